#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Makefile's part of building and installing, with a meson and a ninja that only note what they are asked for.

makefile.py SOURCE_ROOT. Prints TAP.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(sys.argv[1])
MESON = """#!/bin/sh
echo "meson $*" >>calls
[ "$1" != setup ] || [ -z "$FAIL" ] || { echo "no jansson"; exit 1; }
if [ "$1" = setup ]; then
	mkdir -p build/meson-private build-install/meson-private
	for name in build build-install; do case "$*" in *"$name "*|*"$name") echo cmocka >$name/build.ninja ;; esac; done
fi
"""
NINJA = """#!/bin/sh
case "$*" in
*-n*) [ -e fresh ] || echo "ninja: no work to do." ;;
*) echo "ninja $*" >>calls ;;
esac
"""


def make(*args, status=0, **env):
    """Output of make, and what it had meson and ninja do."""
    if os.path.exists("calls"):
        os.unlink("calls")
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "DESTDIR", "PREFIX")}
    run = subprocess.run(["make", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         env={**clean, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}", **env})
    assert run.returncode == status or status and run.returncode, run.stdout
    calls = open("calls").read().splitlines() if os.path.exists("calls") else []
    return run.stdout, calls


def script(name, text):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w") as out:
        out.write(text)
    os.chmod(name, 0o755)


def failing_setup_is_told():
    out, _ = make("all", status=2, FAIL="1")
    assert "no jansson" in out, out
    out, _ = make("all")
    assert "packages asked: build" in out and "setting up build/" in out, out


def builds_when_there_is_work():
    make("all")
    assert make("all") == ("", [])
    open("fresh", "w").close()
    out, calls = make("all")
    os.unlink("fresh")
    assert "building in build/," in out and calls == ["ninja -C build --quiet"], (out, calls)


def run_shows_the_command():
    script("build/cmd/tamis/tamis", "#!/bin/sh\necho the report\n")
    out, _ = make("run")
    lines = out.splitlines()
    assert lines[-2].startswith("build/cmd/tamis/tamis replay -f ") and lines[-1] == "the report", out


def installs_where_it_is_told():
    here = os.getcwd()
    for args, prefix, destdir in ((["PREFIX=/opt/one"], "/opt/one", None), (["PREFIX=/opt/two"], "/opt/two", None),
                                  (["PREFIX=/opt/two"], None, None), (["PREFIX=rel/x"], here + "/rel/x", None),
                                  ([], "/usr/local", None), (["DESTDIR=stage", "PREFIX=/usr"], "/usr", here + "/stage")):
        _, calls = make("install", *args)
        configured = [c for c in calls if c.startswith("meson configure")]
        assert configured == ([f"meson configure build-install -Dprefix={prefix}"] if prefix else []), calls
        assert calls[-1] == "meson install -C build-install --no-rebuild" + (f" --destdir {destdir}" if destdir else ""), calls


def main():
    tests = [failing_setup_is_told, builds_when_there_is_work, run_shows_the_command, installs_where_it_is_told]
    print(f"1..{len(tests)}")
    if not shutil.which("make"):
        for n, function in enumerate(tests, 1):
            print(f"ok {n} - {function.__name__} # SKIP no make")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shutil.copy(os.path.join(ROOT, "Makefile"), "Makefile")
        script("scripts/setup.sh", '#!/bin/sh\necho "packages asked: $*"\n')
        script("bin/meson", MESON)
        script("bin/ninja", NINJA)
        for n, function in enumerate(tests, 1):
            try:
                function()
                print(f"ok {n} - {function.__name__}")
            except (AssertionError, OSError, IndexError) as e:
                print(f"not ok {n} - {function.__name__}")
                for line in str(e).splitlines():
                    print(f"# {line}")
        os.chdir("/")


if __name__ == "__main__":
    main()
