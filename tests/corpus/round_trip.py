#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Round trips of rulesets that nobody here wrote: what `tamis list` prints is read back and prints the same.

round_trip.py TAMIS [FILE...]. Takes every ruleset of the data set, text and JSON, that tamis loads:
text -> list -> list, text -> JSON -> text and JSON -> text -> JSON change nothing (handles are given anew,
so they may differ), and, where root and nft are there, the kernel's nft accepts the listing, except for
what OLDER brings to an older form and unreadable.txt names. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from fold import PRIORITY, priority
from listing import HERE, data_root, enter_namespace, first_difference, missing_link, names, result, skip


# Forms of the listing that are newer than nft 1.0.6, and what it has in their place.
OLDER = (
    # Names of priorities at hooks where 1.0.6 knows numbers only.
    (PRIORITY, priority),
    # `fib ... check` is `fib ... oif` there.
    (re.compile(r"(fib [\w .]+?) check (exists|missing)"), r"\1 oif \2"),
)
# Listings of which the second differs from the first, because nft's does.
UNSTABLE = {
    # `meta l4proto icmp icmp type X reject` lists without its first match; read again, it is of IPv4 only.
    "l2/bridge_mitm-proxy.nft",
}


def listed(tamis, path, *options, cwd=None):
    """(listing, None) or (None, message)."""
    done = subprocess.run([tamis, "list", *options, "-f", path], capture_output=True, text=True,
                          errors="surrogateescape", cwd=cwd, timeout=60)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{path}: exit status {done.returncode}")
    return (done.stdout, None) if done.returncode == 0 else (None, done.stderr)


def write(path, text):
    with open(path, "w", errors="surrogateescape") as out:
        out.write(text)
    return path


def check(path, links):
    """The message with which the kernel's nft refuses a file, or None; makes the interfaces that it misses."""
    while True:
        done = subprocess.run(["nft", "-c", "-f", path], capture_output=True, text=True, errors="replace", timeout=60)
        link = missing_link(done.stderr) if done.returncode else None
        if not link or link in links:
            return done.stderr if done.returncode else None
        links.add(link)
        subprocess.run(["ip", "link", "add", link, "type", "veth"], capture_output=True, check=False)


def older(text):
    for form, instead in OLDER:
        text = form.sub(instead, text)
    return text


def difference(want, got, error):
    if error:
        return error
    want, got = (re.sub(r'("handle": )\d+', r"\1 0", text) for text in (want, got))
    return first_difference(want.replace("}}, ", "}}\n").split("\n"), got.replace("}}, ", "}}\n").split("\n")) \
        if want != got else None


def trips(tamis, text, json, work):
    """The three ways back: (what, message or None)."""
    as_text = write(os.path.join(work, "listing.nft"), text)
    as_json = write(os.path.join(work, "listing.json"), json)
    yield "text", difference(text, *listed(tamis, as_text))
    yield "JSON to text", difference(text, *listed(tamis, as_json))
    yield "text to JSON", difference(json, *listed(tamis, as_text, "-j"))
    yield "JSON", difference(json, *listed(tamis, as_json, "-j"))


def rulesets(root, only):
    for folder, ending in (("rulesets", ".nft"), ("rulesets-json", ".json")):
        base = os.path.join(root, folder)
        for path in sorted(os.path.join(d, f) for d, _, fs in os.walk(base) for f in fs if f.endswith(ending)):
            name = os.path.relpath(path, base)
            if not only or any(o in name for o in only):
                yield name, path


def main():
    tamis, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not os.path.isdir(os.path.join(data_root(), "rulesets")):
        skip("the data set is not there (TAMIS_DATA)")
    have_nft = os.geteuid() == 0 and shutil.which("nft") and enter_namespace()
    unreadable = names(os.path.join(HERE, "unreadable.txt"))
    bad = {"text": [], "JSON to text": [], "text to JSON": [], "JSON": []}
    refused, loaded, checked, links = [], 0, 0, set()
    with tempfile.TemporaryDirectory() as work:
        for name, path in rulesets(data_root(), only):
            text, error = listed(tamis, path, cwd=os.path.dirname(path))
            if error:
                continue
            json, error = listed(tamis, path, "-j", cwd=os.path.dirname(path))
            if error:
                bad["JSON"].append(f"{name}: {error}")
                continue
            if name in UNSTABLE:
                continue
            loaded += 1
            for what, message in trips(tamis, text, json, work):
                if message:
                    bad[what].append(f"{name}: {message}")
            if have_nft and name not in unreadable:
                checked += 1
                message = check(write(os.path.join(work, "listing.nft"), older(text)), links)
                if message:
                    refused.append(f"{name}: {message}")
    print("1..5")
    for n, (what, lines) in enumerate(bad.items(), 1):
        result(n, f"{what} changes nothing", lines, loaded)
    if have_nft:
        result(5, "nft accepts what tamis lists", refused, checked)
    else:
        print("ok 5 - nft accepts what tamis lists # SKIP needs root and the kernel's nft")


if __name__ == "__main__":
    main()
