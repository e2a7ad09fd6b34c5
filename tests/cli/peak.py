#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a load of many elements takes at most: the text, what the sets keep, and little beside.

peak.py TAMIS. The process's largest size is held against a multiple of the text and a number of bytes an element.
The system counts what a process was before its exec, too: so a small one stands between. Prints TAP: one case a form
of the same elements.
"""
import os
import subprocess
import sys

from tap import run_all, test

TAMIS = os.path.abspath(sys.argv[1])
N = 400000
ALL_ELSE = 12 << 20
RUN = """
import os, sys
pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print(used.ru_maxrss * 1024)
sys.exit(status != 0)
"""
SET = "\tset s { type ipv4_addr; %selements = {\n%s\n\t}; }\n"


def ip(i):
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def lines(beside=""):
    return ",\n".join(ip(i) + beside for i in range(N))


def table(*bodies):
    return "table ip t {\n" + "".join(bodies) + "}\n"


def peak(text):
    """bytes"""
    with open("rules", "w") as out:
        out.write(text)
    env = {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"}  # writes to what is never used
    done = subprocess.run([sys.executable, "-ISc", RUN, TAMIS, "check", "-f", "rules"], capture_output=True, text=True,
                          timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def holds(text, texts, each):
    """At most `texts` times the text and `each` bytes an element."""
    at_most = ALL_ELSE + texts * len(text) + each * N
    got = peak(text)
    assert got <= at_most, f"{got} bytes for {len(text)} of text, at most {at_most}"


@test
def addresses():
    holds(table(SET % ("", lines())), 1.5, 30)


@test
def counters():
    holds(table(SET % ("counter; ", lines(" counter packets 1 bytes 2"))), 1.5, 140)


@test
def variable():
    holds(f"define x = {{\n{lines()}\n}}\n" + table("\tset s { type ipv4_addr; elements = $x; }\n"), 1.5, 30)


@test
def deletion():
    text = table(SET % ("", lines())) + f"delete element ip t s {{ {lines()} }}\n"
    holds(text, 1.5, 80)


@test
def json():
    each = ",\n".join(f'{{"elem": {{"val": "{ip(i)}", "counter": {{"packets": 1, "bytes": 2}}}}}}' for i in range(N))
    holds('{"nftables": [{"table": {"family": "ip", "name": "t"}}, {"set": {"family": "ip", "name": "s", "table": "t", '
          f'"type": "ipv4_addr", "stmt": [{{"counter": null}}], "elem": [\n{each}\n]}}}}]}}', 1.5, 140)


@test
def commands():
    text = table("\tset s { type ipv4_addr; }\n") + "".join(f"add element ip t s {{ {ip(i)} }}\n" for i in range(N))
    holds(text, 1.5, 30)


if __name__ == "__main__":
    sys.exit(run_all())
