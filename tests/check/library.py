#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libtamis as others get it: its symbols, its headers, an installed copy. Prints TAP.

library.py BUILD_ROOT SOURCE_ROOT LIBTAMIS.so. Needs nm, cc and pkg-config.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

BUILD, ROOT, LIBRARY = map(os.path.abspath, sys.argv[1:4])
PUBLIC = os.path.join(ROOT, "include", "tamis")
CC = shlex.split(os.environ.get("CC", "cc"))


def run(*args, **more):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise AssertionError(f"{' '.join(args)}\n{done.stdout}")
    return done.stdout


def exported():
    lines = run("nm", "-D", "--defined-only", LIBRARY).split("\n")
    names = {line.split()[-1].split("@")[0] for line in lines if line}
    return {n for n in names if not re.match(r"__(asan|ubsan|odr|sanitizer|start|stop)|_init$|_fini$", n)}


def declared():
    names = set()
    for header in os.listdir(PUBLIC):
        with open(os.path.join(PUBLIC, header)) as text:
            names |= set(re.findall(r"(?m)^TAMIS_API[^;(]*?\b(\w+)\(", text.read()))
    return names


def symbols():
    got, want = exported(), declared()
    assert want, "no declarations found"
    assert got == want, f"exported only: {sorted(got - want)}, declared only: {sorted(want - got)}"
    assert all(n.startswith("tamis_") for n in got)


def headers_stand_alone():
    for header in sorted(os.listdir(PUBLIC)):
        text = f"#include <tamis/{header}>\n"
        for compiler, language in ((CC, "c"), (["c++"], "c++")):
            if language == "c" or shutil.which("c++"):
                run(*compiler, "-x", language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I",
                    os.path.join(ROOT, "include"), "-", input=text)


def sanitizer_flags():
    """What a program needs that links a library with sanitizers in it."""
    undefined = run("nm", "-D", "--undefined-only", LIBRARY)
    flags = [f for f, mark in (("address", "__asan_"), ("undefined", "__ubsan_")) if mark in undefined]
    return [f"-fsanitize={','.join(flags)}"] if flags else []


def installed():
    with tempfile.TemporaryDirectory() as folder:
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder)
        found = {os.path.join(at, f)[len(folder):] for at, _, files in os.walk(folder) for f in files}
        pc = [f for f in found if f.endswith("/tamis.pc")]
        assert len(pc) == 1, f"tamis.pc is not there: {found}"
        for end in ("/bin/tamis", "/tamis.8", "/libtamis.3", "/include/tamis/tamis.h"):
            assert any(f.endswith(end) for f in found), f"{end} is not there"
        assert {os.path.basename(f) for f in found if "/include/" in f} == set(os.listdir(PUBLIC))
        env = {**os.environ, "PKG_CONFIG_PATH": folder + os.path.dirname(pc[0]), "PKG_CONFIG_SYSROOT_DIR": folder}
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "tamis", env=env))
        libdir = next(f[2:] for f in flags if f.startswith("-L"))

        def example(name, *args):
            program = os.path.join(folder, name)
            run(*CC, os.path.join(ROOT, "examples", name + ".c"), "-o", program, "-Wall", "-Wextra", "-Werror", *flags,
                *sanitizer_flags())
            return run(program, *args, env={**os.environ, "LD_LIBRARY_PATH": libdir})

        text = example("sets")
        assert text == ("198.51.100.1 of ipset's set: dropped\n198.51.100.17, its exception: accepted\n"
                        "203.0.113.7, banned, after a reload: dropped\n"), text
        text = example("acls")
        assert text == ("port 443: permitted by ACL 1\nport 22: denied by ACL 0\nport 8080: denied, no entry matches\n"
                        "port 443: permitted by ACL 1\nport 22: denied by ACL 0\nport 8080: permitted by ACL 1\n"
                        "ACL 0, entry 0: 2 packets\nACL 1, entry 0: 2 packets\nACL 1, entry 1: 1 packets\n"), text
        text = example("filter", os.path.join(ROOT, "examples", "firewall.nft"))
        assert text == ("packet 0: accepted\npacket 1: dropped\n"
                        '1 filter input: ip saddr @blocklist counter name "blocked" drop\n'
                        "1 filter input: tcp dport { 80, 443 } accept\n"), text


def example_of_the_man_page():
    with open(os.path.join(ROOT, "docs", "man", "libtamis.3")) as page:
        text = re.search(r"(?s)\.Bd -literal\n(#include.*?)\.Ed", page.read())[1].replace("\\e", "\\")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "example")
        run(*CC, "-x", "c", "-", "-o", program, "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"),
            "-x", "none", LIBRARY, *sanitizer_flags(), input=text)
        assert run(program, env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}) == "pass\n"


def man_pages_render():
    if not shutil.which("groff"):
        return
    for name in ("tamis.8", "libtamis.3"):
        said = run("groff", "-mdoc", "-Tutf8", "-ww", "-z", os.path.join(ROOT, "docs", "man", name))
        assert not said, said
    text = run("groff", "-mdoc", "-Tascii", "-P-cbou", os.path.join(ROOT, "docs", "man", "tamis.8"))
    assert "ip saddr . meta l4proto . th dport @name" in text


def main():
    missing = [tool for tool in ("nm", "pkg-config", CC[0]) if not shutil.which(tool)]
    tests = [symbols, headers_stand_alone, example_of_the_man_page, man_pages_render, installed]
    print(f"1..{len(tests)}")
    for n, function in enumerate(tests, 1):
        if missing:
            print(f"ok {n} - {function.__name__} # SKIP no {' '.join(missing)}")
            continue
        try:
            function()
            print(f"ok {n} - {function.__name__}")
        except (AssertionError, StopIteration) as e:
            print(f"not ok {n} - {function.__name__}")
            for line in str(e).splitlines():
                print(f"# {line}")


if __name__ == "__main__":
    main()
