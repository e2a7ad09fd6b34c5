#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets of ipset under rules: what packets find in them is what `ipset test` says, and what packets add is
what ipset would take. Prints TAP.

ipset_rules.py TAMIS. Random sets of the types with masks and bounds; captures are made here.
"""
import ipaddress
import json
import os
import random
import subprocess
import sys

from packets import capture
from tap import run_all, same, test

TAMIS = os.path.abspath(sys.argv[1])


def run(*args, status=0):
    got = subprocess.run([TAMIS, *args], capture_output=True, timeout=120)
    assert got.returncode == status, f"exit status {got.returncode}, not {status}: {args}\n{got.stderr.decode()}"
    return got.stdout.decode()


def written(name, text):
    with open(name, "w") as f:
        f.write(text)


def interactive(lines):
    """What `tamis ipset` says to them."""
    got = subprocess.run([TAMIS, "ipset", "--state", "sets", "-"], input="".join(f"{line}\n" for line in lines).encode(),
                         capture_output=True, timeout=60)
    return got.stderr.decode().splitlines()


def address(dice, wide=6):
    """One of few, near each other in each byte."""
    return ".".join(str(dice.randrange(1, wide)) for _ in range(4))


def replay(rules, packets):
    written("rules.nft", "table inet global {\n\tchain c { type filter hook prerouting priority -300;\n" + rules + "\n\t}\n}\n")
    capture("in.pcap", packets)
    return json.loads(run("replay", "--json", "-f", "rules.nft", "--ipset", "sets", "in.pcap"))


def rule_packets(report):
    return [rule["packets"] for rule in report["rules"]]


@test
def lookups_are_those_of_ipset():
    dice = random.Random(17)
    one, two = "{0}", "{0},{1}"
    for kind, key, match in (
            ("hash:ip netmask 17", one, "ip saddr"),
            ("hash:ip bitmask 255.0.255.5", one, "ip saddr"),
            ("hash:ip bitmask 0.0.0.3", one, "ip saddr"),
            ("bitmap:ip range 1.0.0.0-1.3.255.255 netmask 22", one, "ip saddr"),
            ("bitmap:ip range 1.2.3.1-1.2.5.9", one, "ip saddr"),
            ("hash:ip,port bitmask 0.255.0.255", "{0},tcp:80", "ip saddr . meta l4proto . tcp dport"),
            ("hash:ip,port netmask 22", "{0},tcp:80", "ip saddr . meta l4proto . tcp dport"),
            ("hash:net,net bitmask 255.0.255.5", two, "ip saddr . ip daddr"),
            ("hash:net,net netmask 15", two, "ip saddr . ip daddr"),
            ("hash:ip,mark markmask 0xf00f", "{0},0", "ip saddr . meta mark")):
        written("sets", f"create x {kind}\n")
        adds = []
        for _ in range(30):
            a, b = (n + f"/{dice.randrange(9, 33)}" if "net,net" in kind else n for n in (address(dice), address(dice)))
            flag = " nomatch" if "net,net" in kind and not dice.randrange(3) else ""
            adds.append(f"add x {key.format(a, b)}{flag}")
        interactive(adds)
        tried = [(address(dice), address(dice)) for _ in range(60)]
        said = interactive(f"test x {key.format(*pair)}" for pair in tried)
        want = ["is in set" in line for line in said]
        same(len(want), len(tried), said)
        got = replay(f"{match} @x counter drop", [(0, a, 80, b) for a, b in tried])
        same(rule_packets(got), [sum(want)], kind)
        for i in range(0, 60, 7):
            got = replay(f"{match} @x counter drop", [(0, tried[i][0], 80, tried[i][1])])
            same(rule_packets(got), [int(want[i])], (kind, tried[i]))




@test
def packets_add_what_ipset_takes():
    sources = ["10.1.2.3", "10.1.2.4", "10.9.2.9", "192.0.2.200", "0.0.0.0", "0.0.0.9", "10.1.3.3"]
    # What an add lets through: the rule goes on for a packet whose key went in, or was there.
    for kind, key, goes in (
            ("hash:ip", "ip saddr", [1, 1, 1, 1, 0, 1, 1]),
            ("hash:ip netmask 24", "ip saddr", [1, 1, 1, 1, 0, 0, 1]),
            ("hash:ip bitmask 255.0.255.0", "ip saddr", [1, 1, 1, 1, 0, 0, 1]),
            ("bitmap:ip range 10.0.128.0-10.1.127.255", "ip saddr", [1, 1, 0, 0, 0, 0, 1]),
            ("bitmap:ip range 10.1.2.3-10.1.2.9", "ip saddr", [1, 1, 0, 0, 0, 0, 0]),
            ("bitmap:ip range 10.1.0.0/16 netmask 24", "ip saddr", [1, 1, 0, 0, 0, 0, 1]),
            ("bitmap:port range 80-90", "tcp dport", [1] * 7),
            ("bitmap:port range 81-90", "tcp dport", [0] * 7),
            ("hash:ip,port netmask 24", "ip saddr . meta l4proto . tcp dport", [1, 1, 1, 1, 0, 0, 1]),
            ("hash:ip maxelem 2", "ip saddr", [1, 1, 0, 0, 0, 0, 0]),
            ("hash:ip maxelem 2 forceadd", "ip saddr", [1, 1, 1, 1, 0, 1, 1])):
        written("sets", f"create x {kind}\n")
        for i, source in enumerate(sources):
            report = replay(f"add @x {{ {key} }} counter\n{key} @x counter", [(0, s) for s in sources[:i + 1]])
            same(rule_packets(report)[0], sum(goes[:i + 1]), (kind, source))
            same(rule_packets(report)[1], sum(goes[:i + 1]), (kind, source))


@test
def packets_delete_under_a_mask():
    written("sets", "create x hash:ip netmask 24\nadd x 10.1.2.0\nadd x 10.1.3.0\n")
    report = replay("ip saddr 10.1.2.77 delete @x { ip saddr }\nip saddr @x counter",
                    [(0, "10.1.2.1"), (1, "10.1.2.77"), (2, "10.1.2.1"), (3, "10.1.3.9")])
    same(rule_packets(report)[1], 2)


@test
def full_set_makes_room_and_no_more():
    written("sets", "create x hash:ip maxelem 50 forceadd timeout 100\n" + "".join(f"add x 10.0.0.{i}\n" for i in range(1, 51)))
    sources = [f"10.1.{i >> 4}.{i & 15}" for i in range(1, 200)]
    report = replay("update @x { ip saddr } counter", [(0, s) for s in sources])
    same(rule_packets(report), [199])
    (s,) = [s for s in report["sets"] if s["name"] == "x"]
    same((s["elements"], s["added"], s["full"]), (50, 199, 0))


if __name__ == "__main__":
    sys.exit(run_all())
