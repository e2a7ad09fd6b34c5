# SPDX-License-Identifier: Apache-2.0
"""The rooms of the house: who may include whom. Fails on a backward arrow, prints TAP.

includes.py SOURCE_ROOT. The table is the one in docs/design.md; `public` is include/tamis.
"""
import os
import re
import sys

MAY = {
    "base": [],
    "rcu": ["base"],
    "packet": ["base"],
    "lang": ["base"],
    "set": ["rcu", "base"],
    "acl": ["rcu", "base", "tamis"],
    "ct": ["packet", "base"],
    "state": ["base"],
    "model": ["lang", "set", "state", "base"],
    "eval": ["packet", "set", "acl", "ct", "state", "base"],
    "compile": ["model", "lang", "eval", "set", "acl", "ct", "state", "packet", "base", "tamis"],
    "engine": ["base", "rcu", "packet", "lang", "set", "acl", "ct", "state", "model", "eval",
               "compile", "tamis"],
    "compat": ["engine", "base", "tamis"],
    "port": ["engine", "packet", "base", "tamis"],
}
CMD = ["compat", "port", "base", "tamis"]
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](\w+)/[^>"]+[>"]', re.M)


def backward(root, folder, own, may):
    """What the files below a folder include that they may not."""
    bad = []
    for at, _, files in os.walk(folder):
        for name in files:
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.join(at, name)
            with open(path) as text:
                for other in INCLUDE.findall(text.read()):
                    if (other in MAY or other == "tamis") and other != own and other not in may:
                        bad.append(f"{os.path.relpath(path, root)} includes {other}/")
    return bad


def tell(n, what, bad):
    print(f"{'not ok' if bad else 'ok'} {n} - {what}")
    for line in bad:
        print(f"# {line}")


def main():
    root = sys.argv[1]
    src = os.path.join(root, "src")
    rooms = sorted(d for d in os.listdir(src) if os.path.isdir(os.path.join(src, d)))
    print(f"1..{len(rooms) + 2}")
    for n, room in enumerate(rooms, 1):
        bad = backward(root, os.path.join(src, room), room, MAY.get(room, []))
        if room not in MAY:
            bad.append(f"src/{room} is not a room of the house")
        tell(n, f"room {room}", bad)
    tell(len(rooms) + 1, "public headers", backward(root, os.path.join(root, "include"), "tamis", []))
    tell(len(rooms) + 2, "the command", backward(root, os.path.join(root, "cmd"), "cmd", CMD))


if __name__ == "__main__":
    main()
