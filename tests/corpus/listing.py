#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rulesets that nobody here wrote: `tamis list` beside the kernel's `nft list ruleset`.

listing.py TAMIS [-v] [FILE...]. Needs root, nft and the data set. Each file is loaded into a network
namespace of its own; files that the real nft refuses must be refused too, unless newer.txt names them
as newer syntax. differences.txt names the files whose listing differs on purpose. Prints TAP: one
case for what is accepted, one for listings, one for refusals.
"""
import ctypes
import os
import re
import shutil
import subprocess
import sys

from fold import fold

CLONE_NEWNET = 0x40000000
HERE = os.path.dirname(os.path.abspath(__file__))


def data_root():
    return os.environ.get("TAMIS_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data"))


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def enter_namespace():
    """Moves the process into a network namespace of its own."""
    return ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) == 0


def names(path):
    if not os.path.exists(path):
        return set()
    with open(path) as lines:
        return {line.split("#")[0].strip() for line in lines} - {""}


def real_listing(path):
    """(listing, None) or (None, message) from the kernel's nft in a new namespace, with the interfaces that
    the ruleset wants."""
    links = []
    while True:
        script = "".join(f"ip link add {d} type veth;" for d in links) + 'nft -f "$1" >/dev/null && exec nft list ruleset'
        done = subprocess.run(["unshare", "-n", "sh", "-c", script, "sh", path], capture_output=True,
                              text=True, errors="replace", cwd=os.path.dirname(path), timeout=60)
        if done.returncode == 0:
            return done.stdout, None
        missing = missing_link(done.stderr)
        if not missing or missing in links or len(links) > 20:
            return None, done.stderr
        links.append(missing)


def missing_link(message):
    """The interface that nft missed, from under the carets of its message."""
    lines = message.split("\n")
    for error, source, carets in zip(lines, lines[1:], lines[2:]):
        if not re.search(r"Error: (Interface does not exist|Could not process rule: No such file)", error):
            continue
        word = "".join(c for c, mark in zip(source, carets) if mark == "^").strip('"')
        if "Could not process" not in error or re.search(r"\bdevices?\b", source):
            if re.fullmatch(r"[\w.@-]{1,15}", word):
                return word
            named = re.search(r'\bdevices? = \{? *"?([\w.-]+)|\bdevice "?([\w.-]+)', source)
            return (named[1] or named[2]) if named else None
    return None


def tamis_listing(tamis, path):
    done = subprocess.run([tamis, "list", "-f", path], capture_output=True, text=True, errors="replace",
                          cwd=os.path.dirname(path), timeout=60)
    if done.returncode not in (0, 1):
        return None, f"exit status {done.returncode}: {done.stderr}"
    return (done.stdout, None) if done.returncode == 0 else (None, done.stderr)


def first_difference(a, b):
    for x, y in zip(a, b):
        if x != y:
            return f"nft: {x.strip()}   tamis: {y.strip()}"
    return f"nft has {len(a)} lines, tamis {len(b)}"


def result(number, name, bad, total):
    print(f"{'not ok' if bad else 'ok'} {number} - {name}: {total - len(bad)} of {total}")
    for line in bad:
        print("# " + line.replace("\n", " | ")[:400])


def main():
    args = sys.argv[1:]
    verbose = "-v" in args
    args = [a for a in args if a != "-v"]
    tamis, only = os.path.abspath(args[0]), args[1:]
    root = os.path.join(data_root(), "rulesets")
    if not os.path.isdir(root):
        skip("the data set is not there (TAMIS_DATA)")
    if os.geteuid() != 0 or not shutil.which("nft"):
        skip("needs root and the kernel's nft")
    files = sorted(os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs if f.endswith(".nft"))
    differences, newer = names(os.path.join(HERE, "differences.txt")), names(os.path.join(HERE, "newer.txt"))
    refused_by_us, unequal, accepted_by_us = [], [], []
    n_accepted = n_refused = n_listed = 0
    for path in files:
        name = os.path.relpath(path, root)
        if only and not any(o in name for o in only):
            continue
        theirs, their_error = real_listing(path)
        ours, our_error = tamis_listing(tamis, path)
        if theirs is None:
            if name in newer:
                continue
            n_refused += 1
            if ours is not None:
                accepted_by_us.append(f"{name}: nft says {their_error[:200]}")
            continue
        n_accepted += 1
        if ours is None:
            refused_by_us.append(f"{name}: {our_error}")
            continue
        if name in differences:
            continue
        n_listed += 1
        a, b = fold(theirs), fold(ours)
        if a != b:
            unequal.append(f"{name}: {first_difference(a, b)}")
            if verbose:
                import difflib
                print("\n".join(difflib.unified_diff(a, b, "nft", "tamis", lineterm="", n=0)))
    print("1..3")
    result(1, "rulesets that nft accepts are accepted", refused_by_us, n_accepted)
    result(2, "they list the same", unequal, n_listed)
    result(3, "rulesets that nft refuses are refused", accepted_by_us, n_refused)


if __name__ == "__main__":
    main()
