#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading, listing, JSON in and out: instructions grow in proportion to the ruleset, whatever it is of.

scale.py TAMIS. For each shape of ruleset `tamis list`, `tamis list -j` and `tamis list` of that JSON run under
valgrind's callgrind with a size and TIMES that size; what an empty ruleset takes is taken off. n log n passes, a
square does not. Counts, not time: the same on a loaded machine. Prints TAP: one case a shape. Needs valgrind.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TAMIS = os.path.abspath(sys.argv[1])
FEW, TIMES = 150, 8
# A square would be TIMES * TIMES, n log n stays below TIMES * 1.5.
MOST = TIMES * 1.7


def ip(i):
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def block(lines):
    return "table ip t {\n" + "".join(lines) + "}\n"


def chain(name, lines):
    return f"\tchain {name} {{\n" + "".join(f"\t\t{line}\n" for line in lines) + "\t}\n"


def elements(head, element):
    return lambda n: block([f"\t{head}; elements = {{ ", ", ".join(element(i) for i in range(n)), " }; }\n"])


SHAPES = {
    "rules": lambda n: block([chain("c", (f"ip saddr {ip(i)} tcp dport {i} counter accept" for i in range(n)))]),
    "chains": lambda n: block(chain(f"c{i}", [f"ip saddr {ip(i)} drop"]) for i in range(n)),
    "jumps": lambda n: block([chain("top", ["type filter hook input priority 0;", *(f"jump c{i}" for i in range(n))]),
                              *(chain(f"c{i}", ["drop"]) for i in range(n))]),
    "defines": lambda n: "".join(f"define x{i} = {ip(i)}\n" for i in range(n))
               + block([chain("c", (f"ip saddr $x{i} drop" for i in range(n)))]),
    "sets": lambda n: block([*(f"\tset s{i} {{ type ipv4_addr; elements = {{ {ip(i)} }}; }}\n" for i in range(n)),
                             chain("c", (f"ip saddr @s{i} drop" for i in range(n)))]),
    "objects": lambda n: block([*(f"\tcounter o{i} {{ packets 1 bytes 2 }}\n" for i in range(n)),
                                chain("c", (f"counter name o{i}" for i in range(n)))]),
    "tables": lambda n: "".join(f"table ip t{i} {{\n\tchain c {{ accept; }}\n}}\n" for i in range(n)),
    "elements": elements("set s { type ipv4_addr", ip),
    "intervals": elements("set s { type ipv4_addr; flags interval", lambda i: ip(4 * i) + "/31"),
    "merged": elements("set s { type ipv4_addr; flags interval; auto-merge", lambda i: ip(3 * i)),
    "boxes": elements("set s { type ipv4_addr . inet_service; flags interval", lambda i: f"{ip(4 * i)}/30 . {i}-{i + 3}"),
    "maps": elements("map m { type ipv4_addr : mark", lambda i: f"{ip(i)} : {i}"),
    "timeouts": elements("set s { type ipv4_addr; flags timeout", lambda i: f'{ip(i)} timeout {i + 1}s comment "x"'),
    "anonymous": lambda n: block([chain("c", ["ip saddr { " + ", ".join(ip(2 * i) for i in range(n)) + " } drop"])]),
    "commands": lambda n: "add table ip t\nadd chain ip t c\nadd set ip t s { type ipv4_addr; flags interval; }\n"
                + "".join(f"add element ip t s {{ {ip(2 * i)} }}\ninsert rule ip t c ip saddr {ip(i)}\n" for i in range(n)),
}


def instructions(*args):
    """(instructions, standard output)"""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", TAMIS, *args],
                          capture_output=True, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise RuntimeError(done.stderr[-600:])
    return int(found[1]), done.stdout


def costs(name, text):
    """Of the text to its listing, to JSON, and of that JSON to the listing."""
    with open(name, "w") as out:
        out.write(text)
    listing, printed = instructions("list", "-f", name)
    to_json, as_json = instructions("list", "-j", "-f", name)
    with open(name, "w") as out:
        out.write(as_json)
    from_json, again = instructions("list", "-f", name)
    if again != printed:
        raise RuntimeError("JSON gives another listing")
    return listing, to_json, from_json


def foreign(n):
    """A flush and declarations beside as many sets of ipset, some of which are declared."""
    n *= 4
    with open("sets", "w") as out:
        out.writelines(f"create s{i} hash:ip\nadd s{i} {ip(i)}\n" for i in range(n))
    with open("rules", "w") as out:
        out.write("flush ruleset\n" + "".join(f"add set inet global {'s' if i % 3 else 'n'}{i} {{ type ipv4_addr; }}\n"
                                              for i in range(n)))
    return instructions("list", "-f", "rules", "--ipset", "sets")[0],


def main():
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        return 0
    failed = 0
    print(f"1..{len(SHAPES) + 1}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        nothing = costs("empty", "")
        shapes = {shape: lambda n, make=make: costs("text", make(n)) for shape, make in SHAPES.items()}
        for n, (shape, cost) in enumerate({**shapes, "sets of ipset": foreign}.items(), 1):
            try:
                few, many = cost(FEW), cost(FEW * TIMES)
                grown = [(m - z) / (f - z) for f, m, z in zip(few, many, nothing)]
            except (RuntimeError, subprocess.SubprocessError) as e:
                grown = [TIMES * TIMES]
                print(f"# {shape}: {e}")
            bad = max(grown) > MOST
            failed += bad
            print(f"{'not ok' if bad else 'ok'} {n} - {shape}: {TIMES} times the size, "
                  f"{', '.join(f'{g:.1f}' for g in grown)} times the work", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
