#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language, listing and messages, one file each: the language's specification by example. Prints TAP.

run.py TAMIS [--update] [NAME...]. For NAME.in there is
  NAME.err   if it is refused: what `tamis check -f NAME.in` says (exit status 1), or
  NAME.ok    what `tamis list -f NAME.in` prints; reading NAME.ok gives NAME.ok again;
  NAME.json  beside it what `tamis list -j` prints, an object a line; reading it gives NAME.ok too.
  NAME.explain  if it is there: what `tamis explain -f NAME.in` prints, but for sizes and times; its
             JSON says the same of each rule.
A first line `# options: -a -n ...` in NAME.in is given to `tamis list`; then only the listing is looked
at. --update writes what the program says; read it before it is committed.
"""
import difflib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TAMIS = os.path.abspath(sys.argv[1])
UPDATE = "--update" in sys.argv
NAMES = [a for a in sys.argv[2:] if not a.startswith("-")]


class Failed(Exception):
    pass


def tamis(*args, text=None):
    """(exit status, stdout, stderr); run where the files are, so that messages name them shortly."""
    run = subprocess.run([TAMIS, *args], cwd=HERE, capture_output=True, timeout=120,
                         input=None if text is None else text.encode(),
                         env={**os.environ, "TZ": "UTC", "LC_ALL": "C"})
    if run.returncode not in (0, 1):
        raise Failed(f"exit status {run.returncode}: {' '.join(args)}\n{run.stderr.decode()}")
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def same(what, got, want):
    if got != want:
        diff = difflib.unified_diff(want.splitlines(), got.splitlines(), "wanted", "got", lineterm="")
        raise Failed(what + "\n" + "\n".join(diff))


def golden(name, text):
    path = os.path.join(HERE, name)
    if UPDATE:
        with open(path, "w") as out:
            out.write(text)
    with open(path) as want:
        same(name, text, want.read())


def lines(text):
    """nft's JSON as an object a line."""
    return "".join(json.dumps(o) + "\n" for o in json.loads(text)["nftables"])


def whole(text):
    return json.dumps({"nftables": [json.loads(line) for line in text.splitlines()]})


def listed(*args, text=None):
    status, out, err = tamis("list", *args, text=text)
    if status:
        raise Failed(err)
    return out


def explained(name, source):
    sizes = ("  classifier: ", "  a packet to the end: ")
    text = "".join(line + "\n" for line in tamis("explain", "-f", source)[1].splitlines()
                   if not line.startswith(sizes))
    golden(name + ".explain", text)
    fates = [line.split(":")[0].split() for line in text.splitlines() if " handle " in line
             and not line.startswith("      ") and not line.startswith("  !")]
    whole_text = json.loads(tamis("explain", "-j", "-f", source)[1])
    same("explain -j", "\n".join(f"{r['fate']} {r['handle']}" for c in whole_text["chains"]
                                 for r in c["rules"]),
         "\n".join(f"{f[0]} {f[2]}" for f in fates))


def check(name):
    source = name + ".in"
    with open(os.path.join(HERE, source)) as f:
        first = f.readline()
    if os.path.exists(os.path.join(HERE, name + ".err")):
        status, _, err = tamis("check", "-f", source)
        if not status:
            raise Failed("accepted")
        golden(name + ".err", err)
        return
    if first.startswith("# options:"):
        golden(name + ".ok", listed(*first.split()[2:], "-f", source))
        return
    ok = listed("-f", source)
    golden(name + ".ok", ok)
    same("read again", listed("-f", "-", text=ok), ok)
    text = lines(listed("-j", "-f", source))
    golden(name + ".json", text)
    same("read from JSON", listed("-f", "-", text=whole(text)), ok)
    if os.path.exists(os.path.join(HERE, name + ".explain")):
        explained(name, source)


def main():
    names = NAMES or sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".in"))
    failures = 0
    print(f"1..{len(names)}")
    for number, name in enumerate(names, 1):
        try:
            check(name)
            print(f"ok {number} {name}")
        except (Failed, OSError, ValueError, subprocess.TimeoutExpired) as error:
            failures += 1
            print(f"not ok {number} {name}")
            print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    return 1 if failures else 0


sys.exit(main())
