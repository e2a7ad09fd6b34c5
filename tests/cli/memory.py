#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each allocation of whole commands fails once, and once with all that follow. Prints TAP.

memory.py TAMIS SOURCE_ROOT PRELOAD. A run says that memory was short and exits with 1, or it does not need what
it did not get: then its output is the whole output. Nothing in between, and no half file.
"""
import os
import re
import subprocess
import sys
import tempfile

TAMIS, ROOT, PRELOAD = (os.path.abspath(a) for a in sys.argv[1:])
# jansson takes a word that it has no memory for as a wrong one.
SHORT = re.compile(rb"Cannot allocate memory|Error: JSON: ")
STEP = 5


def run(args, **env):
    return subprocess.run([TAMIS, *args], capture_output=True, timeout=300,
                          env={**os.environ, "TZ": "UTC", "LC_ALL": "C", "LD_PRELOAD": PRELOAD, **env})


def masked(text):
    return re.sub(rb'(?m)^  \d+ packets a second.*$|"(elapsed_ns|ns_per_packet)":[\d.]+', b"", text)


def wrong(args, good, files, **env):
    for name in files:
        if os.path.exists(name):
            os.unlink(name)
    got = run(args, **env)
    if got.returncode == 0:
        if masked(got.stdout) != masked(good.stdout):
            return "succeeded with other output"
        if any(read(name) != data for name, data in files.items()):
            return "succeeded with other files"
    elif got.returncode != 1:
        return f"exit status {got.returncode}"
    elif not SHORT.search(got.stderr):
        return f"failed with '{got.stderr.decode()}'"
    left = [f for f in os.listdir(".") if f.endswith(".part")]
    return f"left {left}" if left else None


def read(name):
    with open(name, "rb") as f:
        return f.read()


def check(args, outputs=()):
    good = run(args, FAIL_COUNT="count")
    if good.returncode:
        return [f"exit status {good.returncode} with nothing failing: {good.stderr.decode()}"]
    files = {name: read(name) for name in outputs}
    n = int(read("count"))
    found = []
    if n < 100:
        found.append(f"only {n} allocations were seen")
    for at in range(1, n + 1, STEP):
        for more in ({}, {"FAIL_REST": "1"}):
            problem = wrong(args, good, files, FAIL_AT=str(at), **more)
            if problem:
                found.append(f"allocation {at} {more}: {problem}")
    return found


def main():
    rules, capture = (os.path.join(ROOT, "examples", name) for name in ("firewall.nft", "mixed.pcap"))
    rich = os.path.join(ROOT, "tests", "cli", "rich.nft")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("rich.json", "wb") as out:
            out.write(subprocess.run([TAMIS, "list", "-j", "-f", rich], capture_output=True, check=True).stdout)
        cases = [("list", ["list", "-f", rich], ()), ("list to JSON", ["list", "-j", "-f", rich], ()),
                 ("list from JSON", ["list", "-f", "rich.json"], ()),
                 ("replay", ["replay", "-f", rich, "-w", "yes", "--dropped", "no", capture], ("yes", "no")),
                 ("replay to JSON", ["replay", "--json", "-f", rules, "--local", "192.0.2.1", capture], ()),
                 ("trace", ["replay", "-f", rich, "-q", "--log", "log", "--trace=ip saddr 192.0.2.0/24", capture],
                  ("log",))]
        print(f"1..{len(cases)}")
        failed = 0
        for k, (name, args, outputs) in enumerate(cases, 1):
            found = check(args, outputs)
            failed += bool(found)
            print(f"{'not ok' if found else 'ok'} {k} - {name}")
            for line in found[:20]:
                print("# " + line.replace("\n", " "))
            sys.stdout.flush()
        os.chdir(ROOT)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
