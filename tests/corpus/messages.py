#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernel's nft refuses: tamis refuses it at the same place, with the same words.

messages.py TAMIS [-v] [NAME...]. Takes the rulesets of the data set that nft refuses and the rules and
commands of nft-cases that are to fail; newer.txt names rulesets that newer nft takes, places.txt what newer
nft or the kernel refuses elsewhere. Compares the place (line and columns) and the text of the first error.
-v prints each pair that differs. Prints TAP: one case for places, all of which are to be equal, one for the
share of equal texts, one for names in places.txt whose place is equal. Needs root, nft and the data set.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from listing import HERE, data_root, enter_namespace, missing_link, names, result, skip

# The share of equal texts that must hold, in percent.
TEXTS_MIN = 90
ERROR = re.compile(r"^(.*?):(\d+):(\d+)-(\d+): Error: (.*)")
# The kernel's answers, which say less than tamis knows.
KERNEL = re.compile(r"Could not process rule|No such file or directory")


def first_error(message):
    """((file, line, from, to), text) of the first error."""
    for line in message.split("\n"):
        found = ERROR.match(line)
        if found:
            return (os.path.basename(found[1]), int(found[2]), int(found[3]), int(found[4])), found[5]
    return None, message.strip().split("\n")[0]


def nft(path, links):
    """What the kernel's nft says to a file; makes the interfaces that it misses."""
    while True:
        done = subprocess.run(["nft", "-c", "-f", path], capture_output=True, text=True, errors="replace",
                              cwd=os.path.dirname(path), timeout=60)
        link = missing_link(done.stderr) if done.returncode else None
        if not link or link in links:
            return done.returncode, done.stderr
        links.add(link)
        subprocess.run(["ip", "link", "add", link, "type", "veth"], capture_output=True, check=False)


def rulesets(root):
    newer = names(os.path.join(HERE, "newer.txt"))
    for path in sorted(os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs if f.endswith(".nft")):
        if os.path.relpath(path, root) not in newer:
            yield os.path.relpath(path, root), path


def cases(path, work):
    """A file for each case that is to fail, for the first of its chains."""
    earlier = []
    last = None
    with open(path) as rows:
        for row in map(json.loads, rows):
            if row["file"] != last:
                earlier, last = [], row["file"]
            target = row["targets"][0]
            table = f"{target['family']} {target['table']}"
            command = row.get("rule")
            text = f"add rule {table} {target['chain']} {command}" if command else row["command"].replace("@T", table)
            if row["expect"] == "ok":
                if not command:
                    earlier.append(text)
                continue
            if row.get("known_broken"):
                continue
            before = [c.replace("@T", table) for c in row["prelude"]] if command else earlier
            name = os.path.join(work, "case.nft")
            with open(name, "w") as out:
                out.write("\n".join([f"add table {table}", f"add chain {table} {target['chain']} {{ {target['config']}; }}",
                                     *before, text]) + "\n")
            yield f"{row['file']}:{row['line']}: {command or row['command']}", name


def plain(text):
    """A message without the suggestion, which newer nft makes more often, and without a list of keys."""
    return re.sub(r"(; did you mean .*| expression)$|, known keys are .*|, expecting .*|, at most \d+$", "", text)


def same_text(a, b):
    a, b = plain(plain(a)), plain(plain(b))
    return a == b or (KERNEL.match(a) and not KERNEL.match(b))


def main():
    args = sys.argv[1:]
    verbose = "-v" in args
    args = [a for a in args if a != "-v"]
    tamis, only = os.path.abspath(args[0]), args[1:]
    root = data_root()
    if not os.path.isdir(os.path.join(root, "rulesets")):
        skip("the data set is not there (TAMIS_DATA)")
    if os.geteuid() != 0 or not shutil.which("nft") or not enter_namespace():
        skip("needs root, the kernel's nft and network namespaces")
    elsewhere = names(os.path.join(HERE, "places.txt"))
    refused = texts = 0
    unequal, stale, links = [], [], set()
    with tempfile.TemporaryDirectory() as work:
        for kind in (rulesets(os.path.join(root, "rulesets")), cases(os.path.join(root, "nft-cases", "cases.jsonl"), work)):
            for name, path in kind:
                if only and not any(o in name for o in only):
                    continue
                status, theirs = nft(path, links)
                if status == 0:
                    continue
                ours = subprocess.run([tamis, "check", "-f", path], capture_output=True, text=True, errors="replace",
                                      cwd=os.path.dirname(path), timeout=60)
                if ours.returncode == 0:
                    if verbose:
                        print(f"# {name}: taken; nft: {theirs.strip().split(chr(10))[0]}")
                    continue
                refused += 1
                (their_place, their_text), (our_place, our_text) = first_error(theirs), first_error(ours.stderr)
                if name in elsewhere:
                    stale += [name] if their_place == our_place else []
                elif their_place != our_place:
                    unequal.append(f"{name}: nft {their_place and their_place[1:]}, tamis {our_place and our_place[1:]}")
                texts += bool(same_text(their_text, our_text))
                if verbose and (their_place != our_place or not same_text(their_text, our_text)):
                    print(f"# {name}\n#   nft:   {their_place and their_place[1:]} {their_text}\n"
                          f"#   tamis: {our_place and our_place[1:]} {our_text}")
    print("1..3")
    result(1, "first errors have the same place", unequal if refused else ["nothing was refused"], refused)
    print(f"{'ok' if texts * 100 >= refused * TEXTS_MIN else 'not ok'} 2 - first errors have the same text: {texts} of {refused}")
    result(3, "names in places.txt differ", stale, len(elsewhere))


if __name__ == "__main__":
    main()
