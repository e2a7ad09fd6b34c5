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
INCLUDE = re.compile(r'^\s*#\s*include\s+[<"](\w+)/[^>"]+[>"]', re.M)


def main():
    root = sys.argv[1]
    src = os.path.join(root, "src")
    rooms = sorted(d for d in os.listdir(src) if os.path.isdir(os.path.join(src, d)))
    print(f"1..{len(rooms) + 1}")
    for n, room in enumerate(rooms, 1):
        bad = []
        for folder, _, files in os.walk(os.path.join(src, room)):
            for name in files:
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(folder, name)
                with open(path) as text:
                    for other in INCLUDE.findall(text.read()):
                        known = other in MAY or other == "tamis"
                        if known and other != room and other not in MAY.get(room, []):
                            bad.append(f"{os.path.relpath(path, root)} includes {other}/")
        if room not in MAY:
            bad.append(f"src/{room} is not a room of the house")
        print(f"{'not ok' if bad else 'ok'} {n} - room {room}")
        for line in bad:
            print(f"# {line}")
    public = os.path.join(root, "include", "tamis")
    bad = []
    for name in sorted(os.listdir(public)):
        with open(os.path.join(public, name)) as text:
            bad += [f"{name} includes {o}/" for o in INCLUDE.findall(text.read()) if o in MAY]
    print(f"{'not ok' if bad else 'ok'} {len(rooms) + 1} - public headers")
    for line in bad:
        print(f"# {line}")


if __name__ == "__main__":
    main()
