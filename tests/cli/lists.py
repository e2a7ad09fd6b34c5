#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--load and --reload given wrongly, and lists with anything in them. Prints TAP.

lists.py TAMIS SOURCE_ROOT
"""
import os
import random
import subprocess
import sys

from tap import Skipped, run_all, same, test

TAMIS, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CAPTURES = os.path.join(os.environ.get("TAMIS_DATA") or os.path.join(ROOT, "..", "shared", "data"), "pcaps")

RULES = """table ip f {
	set b { type ipv4_addr; size 5; }
	set i { type ipv4_addr; flags interval; }
	set m { type ipv4_addr; flags interval; auto-merge; }
	set six { type ipv6_addr; flags interval; }
	set p { type inet_service; }
	set cc { type ipv4_addr . inet_service; }
	map mm { type ipv4_addr : mark; }
}
"""
NONE = "not an address, prefix or range"


def written(name, data):
    with open(name, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def tamis(*args, stdin=b""):
    run = subprocess.run([TAMIS, *args], input=stdin, capture_output=True, timeout=60)
    assert run.returncode in (0, 1), f"exit status {run.returncode}: {args}\n{run.stderr}"
    return run.returncode, run.stderr.decode(errors="replace")


def load(*targets, skip=False):
    written("rules.nft", RULES)
    return tamis("check", "-f", "rules.nft", *(["--skip-bad"] if skip else []),
                 *(word for target in targets for word in ("--load", target)))


@test
def lines_of_lists():
    for data, target, said in (
            (b"", "b", None), (b"\r\n \t\n# x\n; y\n", "b", None), (b"1.1.1.1\r\n1.1.1.2 ; x\r\n", "b", None),
            (b"\xef\xbb\xbf1.1.1.1", "b", None), (b"1.1.1.1 some label 7\n", "b", None), (b"1.1.1.1\n1.1.1.1\n", "b", None),
            (b"0.0.0.0/0\n", "i", None), (b"::/0\n", "six", None), (b"255.255.255.255\n0.0.0.0\n", "i", None),
            (b"1.1.1.1-1.1.1.9\n1.1.1.5 - 1.1.1.20\n1.1.1.0/24\n", "i", None), (b"1.1.1.0/25\n1.1.1.128/25\n", "m", None),
            (b"bad\n", "b", f"L:1: Error: {NONE}: 'bad'"), (b"1.1.1.1\n300.1.1.1\n", "b", f"L:2: Error: {NONE}: '300.1.1.1'"),
            (b"1.1.1.1/33", "i", f"L:1: Error: {NONE}: '1.1.1.1/33'"), (b"::1/129", "six", f"L:1: Error: {NONE}: '::1/129'"),
            (b"1.1.1.9-1.1.1.1", "i", f"L:1: Error: {NONE}: '1.1.1.9-1.1.1.1'"),
            (b"1.1.1.1-::2", "i", f"L:1: Error: {NONE}: '1.1.1.1-::2'"), (b"1.1.1.1/", "i", f"L:1: Error: {NONE}: '1.1.1.1/'"),
            (b"1.1.1.1/8/8", "i", f"L:1: Error: {NONE}: '1.1.1.1/8/8'"), (b"01.1.1.1", "i", f"L:1: Error: {NONE}: '01.1.1.1'"),
            (b"1.1.1.1\0\n", "b", f"L:1: Error: {NONE}: '1.1.1.1?'"), (b"\x1b[31m\n", "b", f"L:1: Error: {NONE}: '?[31m'"),
            (b"9" * 100000, "b", f"L:1: Error: {NONE}: '{'9' * 60}...'"),
            (b"1.1.1.1 1.1.1.2\n", "i", "L:1: Error: a second entry on the line: '1.1.1.2'"),
            (b"1.1.1.0/24\n", "b", "L:1: Error: a range, and the set has no 'flags interval': '1.1.1.0/24'"),
            (b"1.1.1.1\n1.1.1.2\n1.1.1.3\n1.1.1.1\n1.1.1.4\n1.1.1.5\n1.1.1.6\n", "b",
             "L:7: Error: Could not process rule: Too many open files in system"),
            (b"::1\n1.1.1.1\n", "b", "L: IPv6 entries left out: 1; ip f b holds ipv4_addr")):
        written("L", data)
        same(load(f"ip f {target}=L"), (int("Error" in (said or "")), f"{said}\n" if said else ""), data[:80])


@test
def bad_lines_are_skipped_when_asked():
    written("L", "".join(f"bad{i}\n1.1.1.{i}\n" for i in range(30)))
    said = "".join(f"L:{2 * i + 1}: Warning: {NONE}: 'bad{i}'\n" for i in range(10)) + "L: 20 more lines like these\n"
    same(load("ip f i=L", skip=True), (0, said))
    same(load("ip f i=L"), (1, said.replace("Warning", "Error")))
    written("L", "bad\n" * 11)
    same(load("ip f i=L", skip=True)[1].splitlines()[-1], "L: 1 more line like these")
    same(tamis("check", "-f", "rules.nft", "--skip-bad")[0], 1)


@test
def targets():
    written("L", "1.1.1.1\n")
    for target, said in (("f b", None), ("  ip \t f  b ", None), ("ip f p", "a set of something else than addresses"),
                         ("ip f cc", "a set of something else than addresses"), ("ip f mm", "a map, not a set"),
                         ("ip f nope", "there is no such set in the table"), ("ip nope b", "there is no such table in family ip"),
                         ("inet f b", "there is no such table"), ("b", "not 'family table set=FILE'"),
                         ("foo f b", "there is no such family; it is 'family table set=FILE'"),
                         ("ip f b b", "not 'family table set=FILE'"), ("a" * 600, "not 'family table set=FILE'")):
        same(load(f"{target}=L"), (int(bool(said)), f"tamis: --load {target}: {said}\n" if said else ""))
    for text in ("=L", "ip f b=", "ip f b", ""):
        same(load(text)[1].splitlines()[0], f"tamis: --load {text}: not 'family table set=FILE'")
    same(load("ip f b=nowhere"), (1, "tamis: nowhere: No such file or directory\n"))
    same(load("ip f b=."), (1, "tamis: .: Is a directory\n"))
    same(load("ip f b=L", "ip f b=L"), (0, ""))
    same(load("ip f b=L", "ip f i=nowhere")[0], 1)
    same(load("ip f b=-", "ip f i=-")[1].splitlines()[0], "tamis: standard input can be read once only")


@test
def anything():
    dice = random.Random(4)
    for i in range(40):
        words = [dice.choice((b"1.1.1.1", b"::1", b"/", b"-", b"24", b" ", b"\n", b"\n", b"\0", b"\xff", b"#", b";", b"\r", b",", b"1" * 90))
                 for _ in range(dice.randrange(200))]
        written("L", b"".join(words))
        for name in ("i", "m", "six"):
            load(f"ip f {name}=L", skip=dice.random() < .5)


@test
def reloads():
    capture = next((os.path.join(path, name) for path, _, names in sorted(os.walk(CAPTURES)) for name in sorted(names)
                    if name.endswith(".pcap") and os.path.getsize(os.path.join(path, name)) > 20000), None)
    if not capture:
        raise Skipped("no pcaps in $TAMIS_DATA")
    written("rules.nft", RULES)
    written("flush.nft", "flush ruleset\n" + RULES)
    written("nothing.nft", "flush ruleset\n")
    written("wrong.nft", "foo\n")

    def replay(*reloads):
        return tamis("replay", "-q", "-f", "rules.nft", *(w for r in reloads for w in ("--reload", r)), capture)

    for text in ("0=rules.nft", "-1=rules.nft", "x=rules.nft", "1", "=rules.nft", "1=", "18446744073709551616=rules.nft", "1 =rules.nft",
                 "+1=rules.nft", ""):
        status, said = replay(text)
        same((status, said.splitlines()[0]), (1, f"tamis: --reload {text}: not PACKET=FILE"))
    for good in (["1=rules.nft"], ["01=rules.nft"], ["2=rules.nft", "2=flush.nft", "1=rules.nft"], ["1=nothing.nft", "2=rules.nft"],
                 ["1=rules.nft"] * 5):
        same(replay(*good), (0, ""), good)
    status, said = replay("99999999999=nowhere")
    assert status == 0 and said.startswith("tamis: --reload 99999999999=nowhere: never done, the capture has "), said
    same(replay("1=nowhere"), (1, "tamis: nowhere: No such file or directory\n"))
    same(replay("1=."), (1, "tamis: .: Is a directory\n"))
    for wrong in (["1=wrong.nft"], ["2=rules.nft", "2=wrong.nft"], ["2=wrong.nft", "2=rules.nft"]):
        status, said = replay(*wrong)
        assert status == 1 and said.startswith("wrong.nft:1:"), said


if __name__ == "__main__":
    sys.exit(run_all())
