#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets as people who run firewalls use them: block lists, merging, lifetimes, reloads, sizes, ends. Prints TAP.

set_cases.py TAMIS. Everything is made here: lists, rulesets, captures. What counts is what packets meet
(`tamis replay --json`) and what is listed; memory and CPU time are held to multiples of the data and of each other.
"""
import ipaddress
import json
import os
import random
import resource
import struct
import subprocess
import sys

from packets import capture, packet
from tap import run_all, same, test

TAMIS = os.path.abspath(sys.argv[1])
with open(TAMIS, "rb") as program:
    SANITIZED = b"__asan_" in program.read()

def written(name, text):
    with open(name, "w") as f:
        f.write(text)
    return name


def tamis(*args, status=0, stdin=""):
    """Standard output and error."""
    run = subprocess.run([TAMIS, *args], input=stdin.encode(), capture_output=True, timeout=300,
                         env={**os.environ, "TZ": "UTC", "LC_ALL": "C"})
    err = run.stderr.decode()
    assert run.returncode == status, f"exit status {run.returncode}, not {status}: {args}\n{err}"
    return run.stdout.decode(), err


def ruleset(head, elements, match="ip saddr @s"):
    listed = f"elements = {{ {elements} }};" if elements else ""
    return f"""table inet t {{
	set s {{ {head}; {listed} }}
	chain c {{ type filter hook prerouting priority -300; {match} drop; }}
}}
"""


def matched(packets, *args):
    """For each packet, whether the ruleset dropped it."""
    capture("in.pcap", packets)
    tamis("replay", "-q", "--dropped", "dropped.pcap", *args, "in.pcap")
    with open("dropped.pcap", "rb") as f:
        data = f.read()[24:]
    dropped, answers = [], []
    while data:
        sec, usec, n, _ = struct.unpack("<IIII", data[:16])
        dropped.append((sec, usec, data[16:16 + n]))
        data = data[16 + n:]
    for at, *what in packets:
        one = (1000 + int(at), int(at % 1 * 1e6), packet(*what))
        answers.append(one in dropped)
    return answers


def listed(*args):
    """The elements of the one set of a ruleset."""
    out = tamis("list", *args)[0]
    return " ".join(out.split("elements = {")[1].split("}")[0].split()) if "elements" in out else ""


def hits(sources, *args):
    return "".join("x" if m else "." for m in matched([(0, *s) if isinstance(s, tuple) else (0, s) for s in sources], *args))


# --- 1: a block list with overlaps ------------------------------------------------------------

@test
def case_1_ipset_takes_the_union():
    written("sets", """create nets hash:net
add nets 192.168.0.0/24
add nets 192.168.0.1
create hosts hash:net
add hosts 192.0.2.1-192.0.2.10
add hosts 192.0.2.5-192.0.2.20
create pairs hash:net,port
add pairs 10.0.0.0/8,tcp:80-90
add pairs 10.1.0.0/16,tcp:85-95
""")
    rules = """table inet global {
	chain c { type filter hook prerouting priority -300; ip saddr @nets drop; ip saddr @hosts drop; ip saddr . meta l4proto . th dport @pairs drop; }
}
"""
    written("rules", rules)
    same(hits(["192.168.0.0", "192.168.0.1", "192.168.0.255", "192.168.1.0", "192.0.2.0", "192.0.2.1", "192.0.2.7", "192.0.2.20",
               "192.0.2.21", ("10.2.0.1", 80), ("10.2.0.1", 90), ("10.2.0.1", 91), ("10.1.0.1", 91), ("10.1.0.1", 95), ("10.1.0.1", 96)],
              "--ipset", "sets", "-f", "rules"), "xxx..xxx.xx.xx.")
    # Of single addresses ipset itself takes one twice with -exist alone.
    os.unlink("sets")
    text = "create s hash:ip\nadd s 192.0.2.1-192.0.2.10\nadd s 192.0.2.5-192.0.2.20\n"
    assert "Error in line 3" in tamis("ipset", "--state", "sets", "restore", status=1, stdin=text)[1]
    tamis("ipset", "--state", "sets", "-exist", "restore", stdin=text)
    same(tamis("ipset", "--state", "sets", "save")[0].count("add s "), 20)


@test
def case_1_lists_take_the_union():
    written("list", "192.168.0.0/24\n192.168.0.1\n192.0.2.1-192.0.2.10\n192.0.2.5-192.0.2.20\n192.168.0.1\n")
    written("rules", ruleset("type ipv4_addr; flags interval", ""))
    same(hits(["192.168.0.0", "192.168.0.1", "192.168.1.0", "192.0.2.0", "192.0.2.1", "192.0.2.7", "192.0.2.20", "192.0.2.21"],
              "-f", "rules", "--load", "inet t s=list"), "xx..xxx.")


@test
def case_1_nft_names_both():
    for head, first, second in (("type ipv4_addr; flags interval", "192.168.0.0/24", "192.168.0.1"),
                                ("type ipv4_addr; flags interval", "192.0.2.1-192.0.2.10", "192.0.2.5-192.0.2.20"),
                                ("type ipv4_addr . inet_service; flags interval", "10.0.0.0/8 . 80-90", "10.1.0.0/16 . 80-90")):
        written("rules", f"table inet t {{\n\tset s {{ {head};\n\t\telements = {{\n\t\t\t{first},\n\t\t\t{second} }}; }}\n}}\n")
        err = tamis("list", "-f", "rules", status=1)[1]
        assert first in err and second in err, err
        # Of a load that adds to what is there nothing stays either: the second file, then the list.
        written("good", f"table inet t {{\n\tset s {{ {head}; }}\n}}\n")
        written("bad", f"add element inet t s {{ {first} }}\nadd element inet t s {{ {second} }}\n")
        same(tamis("list", "-f", "good", "-f", "bad", status=1)[0], "")


@test
def case_1_nothing_is_half_loaded():
    written("sets", "")
    tamis("ipset", "--state", "sets", "restore", stdin="create kept hash:ip\nadd kept 1.1.1.1\n")
    before = tamis("ipset", "--state", "sets", "save")[0]
    err = tamis("ipset", "--state", "sets", "restore", status=1,
                stdin="add kept 1.1.1.2\ncreate more hash:ip\nadd more 1.1.1.3\nadd more 1.1.1.3\nadd more 1.1.1.4\n")[1]
    assert "line 4" in err, err
    same(tamis("ipset", "--state", "sets", "save")[0], before)


# --- 2 and 3: auto-merge ----------------------------------------------------------------------

MERGED = "type ipv4_addr; flags interval; auto-merge"


@test
def case_2_auto_merge():
    written("rules", ruleset(MERGED, "") + "add element inet t s { 10.0.0.0/25 }\nadd element inet t s { 10.0.0.128/25 }\n")
    same(listed("-f", "rules"), "10.0.0.0/24")
    written("less", "delete element inet t s { 10.0.0.0/25 }\n")
    same(listed("-f", "rules", "-f", "less"), "10.0.0.128/25")
    same(hits(["10.0.0.0", "10.0.0.127", "10.0.0.128", "10.0.0.255"], "-f", "rules", "-f", "less"), "..xx")
    written("rules", ruleset(MERGED, "") + "add element inet t s { 10.0.0.0/24 }\nadd element inet t s { 10.0.0.5 }\n"
            "delete element inet t s { 10.0.0.5 }\n")
    same(hits(["10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.1.0"], "-f", "rules"), "xxx.")


@test
def case_3_lifetimes_are_not_merged():
    written("rules", ruleset("type ipv4_addr; flags interval, timeout; auto-merge",
                             "10.0.0.1 timeout 3s, 10.0.0.2 timeout 1h, 10.0.1.0/24 timeout 2s, 10.0.1.7 timeout 1h"))
    times = [(0, "9.9.9.9"), (1, "10.0.0.1"), (1, "10.0.0.2"), (4, "10.0.0.1"), (4, "10.0.0.2"),
             (1, "10.0.1.7"), (1, "10.0.1.8"), (3.5, "10.0.1.7"), (3.5, "10.0.1.8")]
    same(matched(sorted(times), "-f", "rules"), [answer for _, answer in sorted(zip(
        times, [False, True, True, False, True, True, True, True, False]))])


# --- 4: adding again --------------------------------------------------------------------------

@test
def case_4_added_again():
    head = "type ipv4_addr; flags timeout"
    for again, lives in (("timeout 1h", True), ("timeout 2s", False)):
        written("rules", ruleset(head, "10.0.0.1 timeout 20s") + f"add element inet t s {{ 10.0.0.1 {again} }}\n")
        same(matched([(0, "9.9.9.9"), (1, "10.0.0.1"), (10, "10.0.0.1"), (30, "10.0.0.1")], "-f", "rules"),
             [False, True, lives, lives])
    os.path.exists("sets") and os.unlink("sets")
    run = lambda *args, **more: tamis("ipset", "--state", "sets", *args, **more)
    run("create", "b", "hash:ip", "timeout", "1000")
    run("add", "b", "10.0.0.1", "timeout", "100")
    left = lambda: int(run("list", "b")[0].split("10.0.0.1 timeout ")[1].split()[0])
    err = run("add", "b", "10.0.0.1", "timeout", "5000", status=1)[1]
    assert "already added" in err, err
    assert left() <= 100, left()
    run("-exist", "add", "b", "10.0.0.1", "timeout", "5000")
    assert 4900 < left() <= 5000, left()


# --- 5: reload --------------------------------------------------------------------------------

@test
def case_5_reload_keeps_bans():
    text = """flush ruleset
table inet t {
	set bans { type ipv4_addr; flags dynamic, timeout; timeout 1h; }
	set fixed { type ipv4_addr; elements = { 10.9.9.9 }; }
	chain c { type filter hook prerouting priority -300;
		ip saddr @bans drop
		ip saddr @fixed drop
		tcp dport 23 add @bans { ip saddr } drop
	}
}
"""
    written("rules", text)
    written("shorter", text.replace("elements = { 10.9.9.9 };", ""))
    packets = [(0, "10.0.0.1", 23)]
    for i in range(40):
        packets += [(1 + i, "10.0.0.1", 80 + i), (1 + i, "10.9.9.9", 80 + i)]
    many = [x for i in range(1, 81) for x in ("--reload", f"{i}=rules")]
    # Whenever it is loaded again: no packet sees a set without what it had.
    same(matched(packets, "-f", "rules", *many), [True] * len(packets))
    # A line that went from the text goes, the ban stays.
    got = matched(packets, "-f", "rules", "--reload", "41=shorter")
    same(got, [True] * 41 + [p[1] == "10.0.0.1" for p in packets[41:]])
    # `flush ruleset` where the text stands by itself means what it says: the set of another file is gone.
    written("ban", "add element inet t bans { 10.0.0.1 }\n")
    same(hits(["10.0.0.1"], "-f", "rules", "-f", "ban"), "x")
    same(hits(["10.0.0.1"], "-f", "rules", "-f", "ban", "-f", "rules"), ".")


@test
def case_5_states_go_on():
    """Limits, quotas and connections of elements and objects: the same packets go whether or not it is loaded again."""
    for keep, rules in (
            ("set s { type ipv4_addr; flags dynamic; size 99; }", "add @s { ip saddr limit rate over 2/hour burst 3 packets } drop"),
            ("set s { type ipv4_addr; limit rate over 2/hour burst 3 packets; elements = { 10.0.0.1 }; }", "ip saddr @s drop"),
            ("set s { type ipv4_addr; flags dynamic; size 99; }", "add @s { ip saddr quota over 120 bytes } drop"),
            ("set s { type ipv4_addr; flags dynamic; size 99; }", "add @s { ip saddr ct count over 3 } drop"),
            ("limit l { rate over 2/hour burst 3 packets; }", 'limit name "l" drop'),
            ("quota q { over 120 bytes; }", 'quota name "q" drop')):
        written("rules", f"flush ruleset\ntable inet t {{\n{keep}\nchain c {{ type filter hook prerouting priority 0; {rules}; }}\n}}\n")
        packets = [(i, "10.0.0.1", 80 + i) for i in range(12)]
        want = matched(packets, "-f", "rules")
        assert any(want) and not all(want), (rules, want)
        for more in (["--reload", "2=rules"], [x for i in range(1, 12) for x in ("--reload", f"{i}=rules")]):
            same(matched(packets, "-f", "rules", *more), want, rules)


@test
def case_5_sets_of_ipset_are_no_part_of_a_ruleset():
    """Neither a reload nor `flush ruleset` takes them, what packets added to them, or their lifetimes."""
    written("sets", "create bans hash:ip timeout 100\nadd bans 10.0.0.1 timeout 30\ncreate nets hash:net\nadd nets 10.9.0.0/16\n")
    written("rules", """flush ruleset
table inet global {
	chain c {
		type filter hook prerouting priority -300
		ip saddr @bans drop
		ip saddr @nets drop
		tcp dport 23 add @bans { ip saddr }
	}
}
""")
    packets = [(0, "10.0.0.2", 23)]
    for i in range(40):
        packets += [(1 + i, f"10.0.0.{k}", 80) for k in (1, 2, 3)] + [(1 + i, "10.9.9.9", 80)]
    reloads = [x for i in range(1, 160, 7) for x in ("--reload", f"{i}=rules")]
    want = [False] + [x for i in range(40) for x in (1 + i < 30, True, False, True)]
    for more in ([], reloads):
        same(matched(packets, "--ipset", "sets", "-f", "rules", *more), want)


# --- 6 and 7: sizes ---------------------------------------------------------------------------

@test
def case_6_maxelem():
    adds = "".join(f"add x 10.{i >> 16}.{i >> 8 & 255}.{i & 255}\n" for i in range(1, 65793))
    for create, status in (("create x hash:ip", None), ("create x hash:ip maxelem 65536", 1), ("create x hash:ip maxelem 65792", 0)):
        os.path.exists("sets") and os.unlink("sets")
        run = subprocess.run([TAMIS, "ipset", "--state", "sets", "restore"], input=(create + "\n" + adds).encode(),
                             capture_output=True, timeout=120)
        assert status in (None, run.returncode), run.stderr.decode()
        left = tamis("ipset", "--state", "sets", "save")[0].count("add x ") if os.path.exists("sets") else 0
        if run.returncode:
            assert b"line 65538" in run.stderr, run.stderr.decode()
        same(left, 0 if run.returncode else 65792, create)


def used(*args, status=0):
    """Seconds of the CPU and MiB at most, of a child of its own."""
    code = ("import resource, subprocess, sys\nr = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
            "u = resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(r, u.ru_utime + u.ru_stime, u.ru_maxrss)")
    out = subprocess.run([sys.executable, "-c", code, TAMIS, *args], capture_output=True, text=True, timeout=600).stdout.split()
    same(int(out[0]), status, args)
    return float(out[1]), int(out[2]) / 1024


def big(name, hosts, nets, head="", tail="", counted=""):
    rng = random.Random(7)
    seen = rng.sample(range(1 << 24, 1 << 31), hosts)
    with open(name, "w") as f:
        f.write(f"table inet t {{\n\tset hosts {{ type ipv4_addr; {head} elements = {{\n")
        f.write(",\n".join(f"{a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}{counted}" for a in seen))
        f.write(f" }}; }}\n\tset nets {{ type ipv4_addr; flags interval; {head} elements = {{\n")
        f.write(",\n".join(f"{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}.0/24{counted}" for a in rng.sample(range(1 << 16, 223 << 16), nets)))
        f.write(f" }}; }}\n\tchain c {{ type filter hook prerouting priority -300; ip saddr @hosts drop; ip saddr @nets drop; }}\n}}\n{tail}")
    return seen, os.path.getsize(name) / (1 << 20)


@test
def case_7_1700000_addresses():
    for counted in ("", " counter packets 0 bytes 0"):
        head = "counter;" if counted else ""
        big("small", 170000, 5600, head=head, counted=counted)
        seen, size = big("big", 1700000, 56000, head=head, counted=counted)
        few, _ = used("check", "-f", "small")
        cpu, memory = used("check", "-f", "big")
        print(f"# {size:.0f} MiB of text{' with counters' if counted else ''}: {memory:.0f} MiB, {cpu:.1f} s of the CPU, "
              f"{cpu / few:.1f} times what a tenth takes", flush=True)
        if not SANITIZED:
            assert memory < 16 * size, "memory"
            assert cpu < 17 * few, "time grows faster than the data"
        # One atomic step: all there, or nothing.
        sources = [str(ipaddress.ip_address(a)) for a in (seen[0], seen[-1], seen[850000])]
        same(hits(sources, "-f", "big"), "xxx")
        written("wrong", "add element inet t hosts { 1.1.1.1 }\nadd element inet t nope { 1.1.1.1 }\n")
        same(tamis("list", "-f", "big", "-f", "wrong", status=1)[0], "")


# --- 8: ends ----------------------------------------------------------------------------------

@test
def case_8_ends():
    ends4 = ["0.0.0.0", "0.0.0.1", "127.255.255.255", "128.0.0.0", "255.255.255.254", "255.255.255.255"]
    ends6 = ["::", "::1", "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "8000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]

    def raw(head, elements, sources, match="ip saddr @s"):
        """Netdev's ingress: before the kernel's checks of addresses."""
        written("rules", f"table netdev t {{\n\tset s {{ {head}; elements = {{ {elements} }}; }}\n"
                f"\tchain c {{ type filter hook ingress device eth0 priority 0; {match} drop; }}\n}}\n")
        return hits(sources, "--iif", "eth0", "-f", "rules")

    for head in ("type ipv4_addr", "type ipv4_addr; flags interval", MERGED, "type ipv4_addr; flags interval, timeout; timeout 1h"):
        same(raw(head, "0.0.0.0", ends4), "x.....", head)
        same(raw(head, "255.255.255.255", ends4), ".....x", head)
        same(raw(head, "0.0.0.0, 255.255.255.255", ends4), "x....x", head)
        if "interval" not in head:
            continue
        same(raw(head, "0.0.0.0/0", ends4), "xxxxxx", head)
        same(raw(head, "0.0.0.0/1", ends4), "xxx...", head)
        same(raw(head, "0.0.0.0/1, 128.0.0.0/1", ends4), "xxxxxx", head)
        same(raw(head, "0.0.0.1-127.255.255.255, 128.0.0.0-255.255.255.254", ends4), ".xxxx.", head)
        same(raw(head, "255.255.255.254/31", ends4), "....xx", head)
    for head in ("type ipv6_addr; flags interval", "type ipv6_addr; flags interval; auto-merge"):
        same(raw(head, "::/0", ends6, "ip6 saddr @s"), "xxxxx", head)
        same(raw(head, "::", ends6, "ip6 saddr @s"), "x....", head)
        same(raw(head, "8000::/1", ends6, "ip6 saddr @s"), "...xx", head)
        same(raw(head, f"::/1, {ends6[4]}", ends6, "ip6 saddr @s"), "xxx.x", head)
    ports = [("10.0.0.1", p) for p in (0, 1, 1023, 1024, 65534, 65535)]
    for head in ("type inet_service", "type inet_service; flags interval", "type inet_service; flags interval; auto-merge"):
        same(raw(head, "65535", ports, "tcp dport @s"), ".....x", head)
        same(raw(head, "0, 65535", ports, "tcp dport @s"), "x....x", head)
        if "interval" in head:
            same(raw(head, "1024-65535", ports, "tcp dport @s"), "...xxx", head)
            same(raw(head, "0-1023, 1024-65534", ports, "tcp dport @s"), "xxxxx.", head)
            same(raw(head, "0-65535", ports, "tcp dport @s"), "xxxxxx", head)
    both = "type ipv4_addr . inet_service; flags interval"
    pairs = [("0.0.0.0", 0), ("0.0.0.0", 65535), ("255.255.255.255", 0), ("255.255.255.255", 65535)]
    same(raw(both, "0.0.0.0/0 . 65535", pairs, "ip saddr . tcp dport @s"), ".x.x")
    same(raw(both, "255.255.255.255 . 0-65535", pairs, "ip saddr . tcp dport @s"), "..xx")
    same(raw(both, "0.0.0.0/0 . 0-65535", pairs, "ip saddr . tcp dport @s"), "xxxx")


if __name__ == "__main__":
    sys.exit(run_all())
