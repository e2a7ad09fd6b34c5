#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands as a user types them: output, messages, files, exit status. Prints TAP.

run.py TAMIS SOURCE_ROOT [--update]. Expected outputs stand in golden/; --update writes them anew.
Figures that depend on the machine's speed are masked.
"""
import difflib
import gzip
import ipaddress
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from tap import Skipped, run_all, test

TAMIS, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
UPDATE = "--update" in sys.argv
with open(TAMIS, "rb") as program:
    SANITIZED = b"__asan_" in program.read()
GOLDEN = os.path.join(ROOT, "tests", "cli", "golden")
RULES = os.path.join(ROOT, "examples", "firewall.nft")
CAPTURE = os.path.join(ROOT, "examples", "mixed.pcap")
LOCAL = ["--local", "192.0.2.1", "--local", "2001:db8::1"]
REPLAY = ["replay", "-f", RULES, *LOCAL]
DROP_ALL = "table inet t { chain c { type filter hook forward priority 0; policy drop; }; }\n"


class Failed(AssertionError):
    pass


def tamis(*args, stdin=None, status=0, stdout=subprocess.PIPE, env=None):
    """Runs the command; (stdout, stderr) as text. Fails on another exit status."""
    run = subprocess.run([TAMIS, *args], input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=120,
                         env={**os.environ, "TZ": "UTC", "LC_ALL": "C", **(env or {})})
    out, err = (run.stdout or b"").decode(), run.stderr.decode()
    if run.returncode != status:
        raise Failed(f"exit status {run.returncode}, not {status}: {' '.join(args)}\n{err}")
    return out, err


def same(got, want):
    if got != want:
        diff = difflib.unified_diff(str(want).splitlines(), str(got).splitlines(), "wanted", "got", lineterm="")
        raise Failed("\n".join(diff))


def holds(what, why=""):
    if not what:
        raise Failed(why or "does not hold")


def golden(name, text):
    path = os.path.join(GOLDEN, name)
    if UPDATE:
        with open(path, "w") as out:
            out.write(text)
    with open(path) as want:
        same(text, want.read())


def masked(text):
    """Without what depends on the machine: speed, and where the sources are."""
    text = re.sub(r"(?m)^  \d+ packets a second.*$", "  SPEED", text)
    return text.replace(ROOT + "/", "")


def speedless(report):
    return {k: v for k, v in report.items() if k not in ("elapsed_ns", "ns_per_packet")}


def written(name, data):
    with open(name, "wb" if isinstance(data, bytes) else "w") as out:
        out.write(data)
    return name


def packets_of(path):
    """The packets of a little-endian microsecond pcap file."""
    with open(path, "rb") as f:
        data = f.read()
    holds(data[:4] == b"\xd4\xc3\xb2\xa1", f"{path} is no pcap file")
    at, found = 24, []
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at + 16:at + 16 + size])
        at += 16 + size
    holds(at == len(data), f"{path} ends in a packet")
    return found


def report(*args, **more):
    return json.loads(tamis("replay", "--json", *args, **more)[0])


# --- help and the command line ---------------------------------------------------------------

@test
def version():
    holds(re.fullmatch(r"tamis \d+\.\d+\.\d+\n", tamis("--version")[0]))


@test
def help_texts():
    golden("help.out", tamis("help")[0])
    same(tamis("--help")[0], tamis("help")[0])
    for command in ("replay", "check", "list", "ipset"):
        text = tamis("help", command)[0]
        golden(f"help-{command}.out", text)
        for option in ("--help",) if command == "ipset" else ("--help", "-h"):
            same(tamis(command, option)[0], text)
        holds("Examples:" in text)


@test
def man_page_has_every_option():
    with open(os.path.join(ROOT, "docs", "man", "tamis.8")) as f:
        page = f.read()
    for command in ("replay", "check", "list", "ipset"):
        for option in re.findall(r"--([a-z]+)", tamis("help", command)[0].split("Examples:")[0]):
            holds(f"Fl -{option}" in page, f"--{option} is not in the man page")


@test
def usage_errors():
    text = ""
    for args in ([], ["frobnicate"], ["help", "frobnicate"], ["replay"], ["replay", "-f", RULES],
                 ["replay", CAPTURE], ["replay", "--nonsense"], ["replay", "-Z"], ["replay", "-f"],
                 ["replay", "--local"], ["replay", "--json=x", "-f", RULES, CAPTURE],
                 ["replay", "-f", RULES, "a", "b"], ["replay", "-f", "-", "-"], ["replay", "-f", "-", "-f", "-", "x"],
                 ["replay", "-f", RULES, "--path", "sideways", CAPTURE],
                 ["replay", "-f", RULES, "--top", "0", CAPTURE], ["replay", "-f", RULES, "--top", "3x", CAPTURE],
                 ["replay", "-f", RULES, "--top", "-1", CAPTURE], ["replay", "-f", RULES, "-D", "x", CAPTURE],
                 ["replay", "-f", RULES, "-w", "-", CAPTURE], ["replay", "-f", RULES, "--dropped", "-", CAPTURE],
                 ["replay", "-f", RULES, "-w", "x", "--dropped", "x", CAPTURE],
                 ["replay", "-f", RULES, "--local", "10.0.0.0/40", CAPTURE],
                 ["replay", "-f", RULES, "--iif", "a-name-that-is-too-long" * 3, CAPTURE],
                 ["check"], ["check", "rules.nft"], ["check", "-j", "-f", RULES], ["list", "-f", RULES, "--top", "3"]):
        out, err = tamis(*args, status=1)
        same(out, "")
        text += f"$ tamis {' '.join(args)}\n{err}"
    golden("usage.err", masked(text))


# --- check and list --------------------------------------------------------------------------

@test
def check_is_silent_on_success():
    same(tamis("check", "-f", RULES), ("", ""))
    same(tamis("check", "-f", "-", stdin=DROP_ALL.encode()), ("", ""))


@test
def check_tells_what_is_wrong():
    written("bad.nft", "table ip t {\n\tchain c {\n\t\ttcp dport 99999 accept\n\t}\n}\n")
    out, err = tamis("check", "-f", "bad.nft", status=1)
    same(out, "")
    holds(err.startswith("bad.nft:3:13-17: Error: "), err)
    holds("\t\ttcp dport 99999 accept\n" in err and "^^^^^" in err, err)
    out, err = tamis("check", "-f", "-", stdin=b"table ip t {\n", status=1)
    holds(err.startswith("/dev/stdin:"), err)


@test
def check_missing_file():
    same(tamis("check", "-f", "no/such/file", status=1), ("", "tamis: no/such/file: No such file or directory\n"))
    same(tamis("check", "-f", ".", status=1)[1], "tamis: .: Is a directory\n")
    same(tamis("check", "-f", "/dev/zero", status=1)[1], "tamis: /dev/zero: Invalid argument\n")


@test
def check_several_files():
    written("one.nft", "table ip t { chain c { }; }\n")
    written("two.nft", "add rule ip t c drop\n")
    same(tamis("check", "-f", "one.nft", "-f", "two.nft"), ("", ""))
    holds("two.nft:1:" in tamis("check", "-f", "two.nft", "-f", "one.nft", status=1)[1])


@test
def check_names_older_elements():
    written("one.nft", b"table ip t {\n\tset s { type ipv4_addr; flags interval; elements = { 10.0.0.0/8 }; }\n"
                       b"\tset b { type ipv4_addr . inet_service; flags interval; elements = { 10.0.0.0/8 . 3-6 }; }\n}\n")
    written("two.nft", b"add element ip t s { 10.1.0.0/16 }\n")
    same(tamis("check", "-f", "one.nft", "-f", "two.nft", status=1)[1].splitlines()[0],
         "two.nft:1:22-32: Error: interval overlaps with an existing one: 10.0.0.0/8")
    written("two.nft", b"add element ip t b { 10.1.0.0/16 . 5-8 }\n")
    same(tamis("check", "-f", "one.nft", "-f", "two.nft", status=1)[1].splitlines()[0],
         "two.nft:1:22-38: Error: Could not process rule: File exists: 10.0.0.0/8 . 3-6")


@test
def check_defines_and_includes():
    os.makedirs("inc", exist_ok=True)
    written("inc/more.nft", "define ports = { 22, 80 }\n")
    written("main.nft", 'include "more.nft"\ntable ip t { chain c { tcp dport $ports ip saddr $net drop; }; }\n')
    tamis("check", "-f", "main.nft", status=1)
    tamis("check", "-I", "inc", "-f", "main.nft", status=1)
    same(tamis("check", "-I", "inc", "-D", "net=10.0.0.0/8", "-f", "main.nft"), ("", ""))
    # Without -I the directory is nft's, not the one at hand, which ./ is.
    written("inc.nft", 'include "inc/more.nft"\n')
    same(tamis("check", "-f", "inc.nft", status=1)[1].splitlines()[0], "inc.nft:1:1-23: Error: File not found: inc/more.nft")
    written("inc.nft", 'include "./inc/more.nft"\n')
    same(tamis("check", "-f", "inc.nft"), ("", ""))
    out = tamis("list", "--includepath", "inc", "--define", "net=10.0.0.0/8", "-f", "main.nft")[0]
    holds("tcp dport { 22, 80 } ip saddr 10.0.0.0/8 drop" in out, out)


@test
def list_text_and_json():
    text = tamis("list", "-f", RULES)[0]
    golden("list.out", text)
    as_json = tamis("list", "-j", "-f", RULES)[0]
    holds("nftables" in json.loads(as_json) and as_json.count("\n") == 1)
    written("rules.json", as_json)
    same(tamis("list", "-f", "rules.json")[0], text)
    same(tamis("list", "-f", "-", stdin=text.encode())[0], text)
    same(tamis("list", "-j", "-f", "rules.json")[0], as_json)


@test
def list_options():
    text = tamis("list", "-f", RULES)[0]
    handles = tamis("list", "-a", "-f", RULES)[0]
    holds("# handle" in handles)
    same(re.sub(r" # handle \d+", "", handles), text)
    holds("198.51.100.200" in text and "198.51.100.200" not in tamis("list", "-t", "-f", RULES)[0])
    holds("packets 0 bytes 0" in text and "packets 0" not in tamis("list", "-s", "-f", RULES)[0])
    holds("priority filter" in text and "priority 0" in tamis("list", "-n", "-f", RULES)[0])
    same(tamis("list", "-a", "-n", "-s", "-t", "-f", RULES)[0], tamis("list", "-anst", "-f", RULES)[0])


# --- lists of addresses ----------------------------------------------------------------------

LISTS = """table inet filter {
	set held { type ipv4_addr; flags interval; elements = { 192.168.0.128-192.168.1.3 }; }
	set merged { type ipv4_addr; flags interval; auto-merge; counter; }
	set single { type ipv4_addr; size 3; }
	set six { type ipv6_addr; flags interval; }
	set ports { type inet_service; }
	map m { type ipv4_addr : verdict; flags interval; }
}
"""
LIST = ("\ufeff# a list\r\n192.168.0.0/24\r\n192.168.0.1 ; inside\n\n  10.0.0.1-10.0.0.10\t3\n10.0.0.5 - 10.0.0.20\n"
        "2001:db8::1\n0.0.0.0\n255.255.255.255 name\n192.168.7.9/16\n7.7.7.7")


def loaded(name, text, *more, status=0):
    """The listing of a set after a list was loaded into it, and what was said."""
    written("lists.nft", LISTS)
    written("list.txt", text.encode())
    out, err = tamis("list", "-f", "lists.nft", "--load", f"inet filter {name}=list.txt", *more, status=status)
    found = re.search(rf"\t(set|map) {name} {{\n(.*?)\n\t}}", out, re.S)
    return found.group(2) if found else "", err


@test
def list_loads():
    text = ""
    for name in ("held", "merged", "six"):
        out, err = loaded(name, LIST)
        text += f"{name}\n{err}{out}\n"
    out, err = loaded("single", "1.1.1.1\n2.2.2.2/32\n1.1.1.1\n3.3.3.3-3.3.3.3\n")
    text += f"single\n{err}{out}\n"
    out, err = loaded("held", "0.0.0.0/0\n::/0\n")
    text += f"all\n{err}{out}\n"
    golden("lists.out", text)
    same(loaded("single", "")[1], "")
    same(tamis("check", "-f", "lists.nft", "--load", "inet filter six=-", stdin=b"::/0"), ("", ""))


RELOADED = """flush ruleset
table inet t {
	set seen { type ipv4_addr; flags dynamic, timeout; timeout 1h; }
	chain c { type filter hook prerouting priority 0; ip saddr @seen counter; meta nfproto ipv4 add @seen { ip saddr }; }
}
"""


@test
def reload_in_the_middle():
    """What packets added is found by those that come after the file was loaded again."""
    def seen(*args):
        r = report(*args, CAPTURE)
        known, all_of_them = (rule["packets"] for rule in r["rules"])
        return r["sets"][0], known, all_of_them

    written("seen.nft", RELOADED.encode())
    written("other.nft", RELOADED.replace("timeout 1h", "size 99; timeout 1h").replace("t {", "other {").encode())
    whole, known, packets = seen("-f", "seen.nft")
    for at in (30, 40, 50):
        kept, found, rest = seen("-f", "seen.nft", "--reload", f"{at}=seen.nft")
        same(kept["elements"], whole["elements"])
        same(rest - found, kept["added"])
        same(report("-f", "seen.nft", "--reload", f"{at}=seen.nft", CAPTURE)["reloaded"], at)
        holds(f"  chains and sets below count since the reload after packet {at}\n" in
              tamis("replay", "-f", "seen.nft", "--reload", f"{at}=seen.nft", CAPTURE)[0])
        anew, refound, same_rest = seen("-f", "seen.nft", "--reload", f"{at}=other.nft")
        same(same_rest, rest)
        holds(refound < found < known and rest < packets, f"{refound}, {found}, {known}")
    same(seen("-f", "seen.nft", "--reload", "2=seen.nft", "--reload", "1=seen.nft", "--reload", "1000000=nowhere.nft")[0]["elements"],
         whole["elements"])
    same(tamis("replay", "-q", "-f", "seen.nft", "--reload", "98=nowhere.nft", "--reload", "97=seen.nft", CAPTURE)[1].splitlines()[-1],
         "tamis: --reload 98=nowhere.nft: never done, the capture has 97 packets")
    for text in ("x=seen.nft", "0=seen.nft", "=seen.nft", "5=", "5", "-1=seen.nft"):
        same(tamis("replay", "-f", "seen.nft", "--reload", text, CAPTURE, status=1)[1].splitlines()[0],
             f"tamis: --reload {text}: not PACKET=FILE")
    written("wrong.nft", b"table {")
    holds("syntax error" in tamis("replay", "-f", "seen.nft", "--reload", "3=wrong.nft", CAPTURE, status=1)[1], "no message")


@test
def list_errors():
    bad = "1.2.3.4 5.6.7.8\n300.1.1.1\n1.1.1.1/33\nfoo\n5.5.5.9-5.5.5.1\n8.8.8.8\n::/129\n1.1.1.1-\n010.0.0.1\n"
    text = ""
    for name, content, *more in (("held", bad), ("held", "x\n" * 13), ("single", "1.1.1.1\n2.2.2.0/24\n"),
                                 ("single", "1.1.1.1\n2.2.2.2\n1.1.1.1\n3.3.3.3\n4.4.4.4\n"), ("nowhere", "1.1.1.1\n"),
                                 ("ports", "1.1.1.1\n"), ("m", "1.1.1.1\n")):
        out, err = loaded(name, content, status=1)
        same(out, "")
        text += err
    out, err = loaded("held", bad, "--skip-bad")
    holds("8.8.8.8" in out and "1.2.3.4" not in out, out)
    text += err
    for target in ("inet filter held=no/such/file", "inet filter=list.txt", "x=list.txt", "=x", "inet filter held", "a b c d=x"):
        text += tamis("check", "-f", "lists.nft", "--load", target, status=1)[1]
    golden("lists.err", text)
    same(tamis("check", "-f", "-", "--load", "inet filter held=-", status=1, stdin=b"")[1].splitlines()[0],
         "tamis: standard input can be read once only")


@test
def list_is_the_union():
    """Seeded random lists against Python's own arithmetic."""
    dice = random.Random(7)
    for name in ("held", "merged"):
        for _ in range(8):
            lines, want = [], set(range(128, 256)) if name == "held" else set()
            for _ in range(dice.randrange(40)):
                first = dice.randrange(256)
                if dice.random() < .5:
                    net = ipaddress.ip_network((0xc0a80000 + first, dice.randrange(24, 33)), strict=False)
                    lines.append(f"192.168.0.{first}/{net.prefixlen}")
                    want |= {int(a) & 255 for a in net}
                else:
                    last = dice.randrange(first, 256)
                    lines.append(f"192.168.0.{first}-192.168.0.{last}")
                    want |= set(range(first, last + 1))
            out, err = loaded(name, "\n".join(lines))
            same(err, "")
            got = set()
            for first, mask, last in re.findall(r"192\.168\.0\.(\d+)(?:/(\d+)|-192\.168\.[01]\.(\d+))?", out):
                size = 1 << 32 - int(mask) if mask else 1
                got |= set(range(int(first), (256 if last == "3" and name == "held" else int(last) + 1) if last
                                 else int(first) + size))
            same(sorted(got), sorted(want))


@test
def list_judges_packets():
    written("lists.nft", "table inet f { set b { type ipv4_addr; flags interval; }; set s { type ipv6_addr; flags interval; }\n"
            "chain c { type filter hook input priority 0; ip saddr @b drop; ip6 saddr @s drop; }; }\n")
    written("all.txt", "0.0.0.0/0\n::/0\n")
    for path in ("auto", "input"):
        got = report("-f", "lists.nft", "--path", path, *LOCAL, "--load", "inet f b=all.txt", "--load",
                     "inet f s=all.txt", CAPTURE)
        plain = report("-f", "lists.nft", "--path", path, *LOCAL, CAPTURE)
        holds(got["dropped"] > plain["dropped"])
        same(sum(r["packets"] for r in plain["rules"]), 0)


@test
def lists_of_others():
    folder = os.path.join(os.environ.get("TAMIS_DATA") or os.path.join(ROOT, "..", "shared", "data"), "ipsets", "blocklists")
    if not os.path.isdir(folder):
        raise Skipped("no ipsets/blocklists in $TAMIS_DATA")
    written("lists.nft", LISTS)
    for name in sorted(os.listdir(folder)):
        for target in ("held", "merged", "six"):
            out, err = tamis("check", "-f", "lists.nft", "--load", f"inet filter {target}={os.path.join(folder, name)}")
            same(out, "")
            holds(err == "" or re.fullmatch(r".*: IPv[46] entries left out: \d+; inet filter \w+ holds \w+\n", err), err)


# --- ACLs in VPP's language --------------------------------------------------------------------

ACLS = os.path.join(ROOT, "examples", "acl.vpp")


@test
def acls_alone():
    text, err = tamis("replay", "--acl", ACLS, *LOCAL, CAPTURE)
    same(err, "")
    golden("acl.out", masked(text))
    out, _ = tamis("replay", "--acl", ACLS, *LOCAL, "--json", CAPTURE)
    data = json.loads(out)
    data["elapsed_ns"] = data["ns_per_packet"] = 0
    golden("acl.json", json.dumps(data, indent=1) + "\n")
    entries = [e for a in data["acls"] for e in a["entries"]]
    faces = data["interfaces"]
    holds(sum(e["packets"] for e in entries) == sum(f["permitted"] + f["denied"] for f in faces))
    holds(data["dropped"] == sum(f["denied"] + f["unmatched"] for f in faces))
    holds(data["accepted"] + data["dropped"] == data["packets"])
    same(tamis("check", "--acl", ACLS), ("", ""))
    listing = tamis("list", "--acl", ACLS)[0]
    same(tamis("list", "--acl", "-", stdin=listing.encode())[0], listing)
    holds("rules" in data and "acls" not in json.loads(tamis(*REPLAY, "--json", CAPTURE)[0]))


@test
def acls_traced():
    out, err = tamis("replay", "-q", "--acl", ACLS, *LOCAL, "--trace", CAPTURE)
    same(err, "")
    lines = out.splitlines()
    holds(all(re.match(r"trace id \d+ acl wan0 (input|output) "
                       r"(packet: |rule acl \d+ entry \d+ |session |reflect |ethertype |policy drop$)", x) for x in lines))
    golden("acl_trace.out", "".join(x + "\n" for x in lines if " packet: " not in x))
    data = json.loads(tamis("replay", "--acl", ACLS, *LOCAL, "--json", CAPTURE)[0])
    # One decision for each packet that came to an ACL, and the report counts the same ones.
    for word, count in (("drop", data["dropped"]), ("accept", data["accepted"])):
        deciding = [x for x in lines if x.endswith((f"(verdict {word})", f"policy {word}")) and " reflect " not in x]
        same(len(deciding), count)
    for a in data["acls"]:
        for k, e in enumerate(a["entries"]):
            same(sum(f" rule acl {a['index']} entry {k} " in x for x in lines), e["packets"])
    # Beside JSON they stand on standard error; a selection tells of its packets alone.
    report, err = tamis("replay", "--json", "--acl", ACLS, *LOCAL, "--trace=tcp dport 443", CAPTURE)
    some = set(err.splitlines())
    holds(json.loads(report)["packets"] and some and some < set(lines), err)
    written("mac.vpp", "set acl-plugin macip acl deny ip 0.0.0.0/0 mac 02:00:00:00:00:fe mask ff:ff:ff:ff:ff:ff\n"
                       "set acl-plugin macip interface wan0 acl 0\n")
    out = tamis("replay", "-q", "--acl", "mac.vpp", "--iif", "wan0", "--trace", CAPTURE)[0]
    holds("acl wan0 macip rule acl 0 entry 0 deny ip 0.0.0.0/0 mac 02:00:00:00:00:fe mask ff:ff:ff:ff:ff:ff (verdict drop)" in out
          and "acl wan0 macip policy drop" in out, out)


@test
def acls_and_rules():
    """Input ACLs, then the ruleset for what they let through, then output ACLs."""
    written("in.vpp", "set acl-plugin acl permit\nset acl-plugin interface in0 input acl 0\n")
    written("out.vpp", "set acl-plugin acl index 1 permit proto 6\nset acl-plugin interface out0 output acl 1\n"
                       "show acl-plugin interface\n")
    written("count.nft", "table inet t { chain c { type filter hook forward priority 0; ip version 4 counter\n"
                         "ip6 version 6 counter; }; }\n")
    alone = json.loads(tamis("replay", "-f", "count.nft", "--iif", "in0", "--oif", "out0", "--json", CAPTURE)[0])
    first = json.loads(tamis("replay", "-f", "count.nft", "--acl", "in.vpp", "--iif", "in0", "--oif", "out0", "--json",
                             CAPTURE)[0])
    out, err = tamis("replay", "-f", "count.nft", "--acl", "out.vpp", "--iif", "in0", "--oif", "out0", "--json", CAPTURE)
    last = json.loads(out)
    holds(err.startswith("sw_if_index"), err)
    four, six = (r["packets"] for r in alone["rules"])
    holds(four and six)
    same([r["packets"] for r in first["rules"]], [four, 0])
    same([r["packets"] for r in last["rules"]], [four, six])
    holds(last["accepted"] == last["interfaces"][0]["permitted"] + 1, out)  # and a packet that is not IP
    both = json.loads(tamis("replay", "-f", "count.nft", "--acl", "in.vpp", "--acl", "out.vpp", "--iif", "in0", "--oif",
                            "out0", "--json", CAPTURE)[0])
    same([a["index"] for a in both["acls"]], [0, 1])
    # What a file shows is no part of a capture, and a listing in JSON is one value.
    passed = subprocess.run([TAMIS, "replay", "-q", "-w", "-", "--acl", "out.vpp", "--oif", "out0", CAPTURE],
                            capture_output=True, timeout=60)
    holds(passed.returncode == 0 and passed.stderr.startswith(b"sw_if_index"), passed.stderr)
    holds(passed.stdout[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a"), passed.stdout[:40])
    listed = json.loads(tamis("list", "-j", "-f", "count.nft", "--acl", "in.vpp", "--acl", "out.vpp")[0])
    same(listed["nftables"], json.loads(tamis("list", "-j", "-f", "count.nft")[0])["nftables"])
    same(tamis("list", "--acl", "-", stdin="\n".join(listed["vpp"]).encode())[0].splitlines(), listed["vpp"])
    same(list(json.loads(tamis("list", "-j", "--acl", "in.vpp")[0])), ["vpp"])
    holds(both["interfaces"][1]["permitted"] == last["interfaces"][0]["permitted"])


@test
def acl_errors():
    text = ""
    written("bad.vpp", "set acl-plugin acl permit\nset acl-plugin acl permit src 1.2.3.4/99\n")
    written("two.vpp", "set acl-plugin acl permit\nset acl-plugin interface a input acl 0\n"
                       "set acl-plugin interface b input acl 0\n")
    for args in (["check", "--acl", "bad.vpp"], ["check", "--acl", "missing.vpp"], ["check", "--acl", "."],
                 ["replay", "--acl", "bad.vpp", CAPTURE], ["replay", "--acl", "-", "-"],
                 ["replay", "--acl", "two.vpp", "-q", "-w", "two.vpp", CAPTURE], ["check", "--acl"]):
        out, err = tamis(*args, status=1)
        same(out, "")
        text += "$ tamis " + " ".join(args).replace(ROOT + os.sep, "") + "\n" + err
    out, err = tamis("replay", "--acl", "two.vpp", "-q", CAPTURE)
    golden("acl.err", text + err)


@test
def acls_of_others():
    folder = os.path.join(os.environ.get("TAMIS_DATA") or os.path.join(ROOT, "..", "shared", "data"), "vpp", "exec")
    if not os.path.isdir(folder):
        raise Skipped("no vpp/exec in $TAMIS_DATA")
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        run = subprocess.run([TAMIS, "check", "--acl", path], capture_output=True, text=True, timeout=60)
        if run.returncode:
            holds(re.search(r"(?m)^.*:\d+: Error: .", run.stderr), run.stderr)
            continue
        with open(path) as text:
            lines = sum("acl-plugin acl " in line for line in text)
        listing = tamis("list", "--acl", path)[0]
        same(len(re.findall(r"(?m)^set acl-plugin acl ", listing)), lines)
        same(tamis("list", "--acl", "-", stdin=listing.encode())[0], listing)


# --- sets of ipset ---------------------------------------------------------------------------

RESTORES = [
    'create a hash:ip\nadd a 1.2.3.4\nadd a 1.2.3.4\n',
    'create a hash:ip\nadd a 1.2.3.4\nadd a 1.2.3.4 -exist\nadd -exist a 1.2.3.4\n-exist add a 1.2.3.4\n',
    'create a hash:ip\ndel a 1.2.3.4\n',
    'create a hash:ip\ncreate a hash:ip\n',
    'create a hash:ip\ncreate a hash:net -exist\n',
    'create a hash:ip maxelem 2\nadd a 1.2.3.4\nadd a 1.2.3.5\nadd a 1.2.3.6\n',
    'create a hash:ip maxelem 2 forceadd\nadd a 1.2.3.4\nadd a 1.2.3.5\nadd a 1.2.3.6\n',
    'create a hash:ip\nadd a 1.2.3.0/29\nadd a 1.2.3.16-1.2.3.18\n',
    'create a hash:ip\nadd a 0.0.0.0\n',
    'create a hash:net\nadd a 0.0.0.0/0\n',
    'create a hash:net\nadd a 1.2.3.0-1.2.4.5\nadd a 10.1.2.3/8 nomatch\nadd a 10.0.0.0/8\n',
    'create a hash:ip netmask 24\nadd a 1.2.3.4\nadd a 1.2.3.0/22\n',
    'create a hash:ip timeout 5\nadd a 1.2.3.4 timeout 0\nadd a 1.2.3.5 timeout 3000\nadd a 1.2.3.6\n',
    'create a hash:ip\nadd a 1.2.3.5 timeout 3000\n',
    'create a hash:ip\nadd a 1.2.3.5 comment "x"\n',
    'create a hash:ip\nadd a 1.2.3.5 packets 3\n',
    'create a hash:ip\nadd a 1::2\n',
    'create a hash:ip family inet6\nadd a 1.2.3.4\n',
    'create a hash:ip\nadd b 1.2.3.4\n',
    'create a nosuch\n',
    'create a hash:ip nosuchopt\n',
    'create a hash:ip maxelem x\n',
    'create a hash:ip maxelem\n',
    'create a\n',
    'create\n',
    'add a\n',
    'frob a\n',
    'create abcdefghijabcdefghijabcdefghijabcd hash:ip\n',
    'create a hash:ip\nrename a b\nrename a c\n',
    'create a hash:ip\ncreate b hash:net\nswap a b\n',
    'create a hash:ip\ncreate b hash:ip\nswap a c\n',
    'create a hash:ip\ncreate b hash:ip\nrename a b\n',
    'create a hash:ip\ndestroy a\ndestroy a\n',
    'create a hash:ip\nadd a 1.2.3.4\nflush a\nflush b\n',
    'create a hash:ip comment\nadd a 1.2.3.4 comment "a b"\nadd a 1.2.3.5 comment foo\n',
    '# c\n\n  create a hash:ip   \n-N b hash:ip\n-A b 1.1.1.1\nCOMMIT\nadd a 1.1.1.1 # hi\n',
    'create a bitmap:ip range 10.0.0.0-10.0.0.9 netmask 24\n',
    'create a bitmap:ip range 10.0.0.0-10.0.0.9\nadd a 10.0.0.0/30\nadd a 10.0.1.1\n',
    'create a bitmap:port range 0-100\nadd a 5-9\nadd a tcp:30\nadd a 101\n',
    'create a hash:ip,port\nadd a 1.2.3.4,80\nadd a 1.2.3.4,udp:53\nadd a 1.2.3.4,tcp:http\nadd a 1.2.3.4,icmp:8/0\nadd a 1.2.3.4,gre:0\nadd a 1.2.3.4,tcp:1-3\nadd a 1.2.3.4,47:0\nadd a 1.2.3.4,icmp:ping\n',
    'create a hash:net,iface\nadd a 1.2.3.0/24,eth0\nadd a 0.0.0.0/0,physdev:eth1\nadd a 2.0.0.0/8,eth wildcard\n',
    'create a hash:ip range 1-2\n',
    'create a hash:ip timeout 99999999\n',
    'add a 1.1.1.1,tcp\n',
    'create a hash:ip\nadd a 1.2.3.4 nomatch\n',
    'create a hash:ip family inet6 netmask 64\nadd a 1::1\n',
    'create a hash:ip family foo\n',
    'create a hash:ip,port\nadd a 1.2.3.4\n',
    'create a hash:ip,port,ip\nadd a 1.2.3.4,80\n',
    'create a hash:ip\nadd a 1.2.3.4,80\n',
    'create a hash:ip,port\nadd a 1.2.3.4,80,1.1.1.1\n',
    'create a hash:ip,port\nadd a 1.2.3.4,tcp:x\n',
    'create a hash:ip,port\nadd a 1.2.3.4,gre:3\n',
    'create a hash:ip,port\nadd a 1.2.3.4,foo:3\n',
    'create a hash:ip,port\nadd a 1.2.3.4,99999\n',
    'create a hash:ip,port\nadd a 1.2.3.4,icmp:foo\n',
    'create a hash:ip,port\nadd a 1.2.3.4,9-5\nadd a 1.2.3.9-1.2.3.8,6\n',
    'create a hash:net\nadd a 1.2.3.4/33\n',
    'create a hash:net\nadd a 1.2.3.4/x\n',
    'create a hash:net family inet6\nadd a 1::-1::5\n',
    'create a hash:ip family inet6\nadd a 1::/64\n',
    'create a hash:ip family inet6\nadd a 1::1-1::4\n',
    'create a hash:ip netmask 33\n',
    'create a hash:ip,port,ip\nadd a 1.2.3.4,80,1.1.1.0/24\n',
    'create a list:set\ncreate b hash:ip\nadd a b\nadd a b\n',
    'create a list:set\nadd a b\n',
    'create a list:set\nadd a a\n',
    'create a list:set\ncreate c list:set\nadd a c\n',
    'create a list:set\ncreate b hash:ip\nadd a b\ndestroy b\n',
    'create a list:set\ncreate b hash:ip\nadd a b\nrename b c\n',
    'create a list:set\ncreate b hash:ip\ndel a b\n',
    'create a list:set size 4\ncreate b hash:ip\ncreate c hash:ip\ncreate d hash:ip\ncreate e hash:ip\ncreate f hash:ip\nadd a b\nadd a c before b\nadd a d\nadd a e\nadd a f\n',
    'create a bitmap:ip,mac range 10.0.0.0/24\nadd a 10.0.0.1\nadd a 10.0.0.2,00:11:22:33:44:55\nadd a 10.0.0.2,00:11:22:33:44:56\n',
    'create a bitmap:ip,mac range 10.0.0.0/24\nadd a 10.0.0.2,00:11:22:33:44\n',
    'create a bitmap:port\n',
    'create a bitmap:ip range 10.0.0.0/15\n',
    'create a bitmap:ip range 10.0.0.0/8 netmask 24\nadd a 10.1.2.3\n',
    'create a hash:net,iface\nadd a 1.2.3.0/24,averyveryverylongname\n',
    'create a hash:net\nadd a 10.0.0.0/8\nadd a 10.0.0.0/8 nomatch -exist\n',
    'create a hash:net\nadd a 10.0.0.0/8 nomatch\nadd a 10.0.0.0/8 -exist\ndel a 10.0.0.0/8 nomatch\n',
    'create a hash:ip,port,net\nadd a 1.1.1.0-1.1.1.2,80-81,2.2.2.0/24\n',
    'create a hash:ip skbinfo\nadd a 1.1.1.0 skbmark 0x1/0xff skbprio 1:10 skbqueue 3\n',
    'create a hash:ip\nadd a 1.1.1.0 skbmark 1\n',
    'create a hash:ip bitmask 255.255.255.0\nadd a 1.1.1.1\n',
    'create a hash:ip maxelem 4\nadd a 1.1.1.0/29\n',
    'create a hash:ip comment\nadd a 1.1.1.1 comment "abc\n',
    'flush\ncreate a hash:ip\nadd a 1.1.1.1\nflush\ndestroy\n',
    'create a hash:ip hashsize 0\n',
    'create a hash:ip\nadd a 1.1.1.1 timeout\n',
    'create a hash:ip timeout 10\nadd a 1.1.1.1 timeout x\n',
    'create a hash:ip bitmask 255.0.255.0\n',
    'create a hash:ip,mark markmask 0xff00\n',
    'create a hash:ip,mark markmask 0xffffff00\nadd a 1.1.1.1,0x1234\n',
    'create 9a hash:ip\n',
    'create a hash:ip\nrename a :b\n',
    'create drop hash:ip\n',
    'create 1st hash:ip\nadd 1st 1.1.1.1\ncreate second hash:ip\nadd second 2.2.2.2\ncreate l list:set\nadd l 1st\nadd l second\n',
    'create "a b" hash:ip,mark markmask 0xff00\n',
    'create a hash:ip timeout 100\nadd a 1.1.1.1 timeout 5\nadd a 1.1.1.1 timeout 9 -exist\n',
    'create a hash:ip forceadd maxelem 2\nadd a 1.1.1.1\nadd a 1.1.1.2\nadd a 1.1.1.3\n',
    'create a hash:mac\nadd a 00:11:22:33:44:55\nadd a 00:00:00:00:00:00\n',
    'create a hash:net timeout 100\nadd a 10.0.0.0/8\nadd a 10.1.0.0/16 timeout 5 nomatch\n',
    'create a hash:net timeout 100\nadd a 10.0.0.0/8 timeout 5\nadd a 10.1.0.0/16 nomatch\nadd a 10.1.2.0/24 timeout 0\n',
    'create a hash:net,iface\nadd a 10.0.0.0/8,eth0\nadd a 11.0.0.0/8,ppp wildcard\n',
    'create a bitmap:ip,mac range 10.0.0.0/30\nadd a 10.0.0.1\nadd a 10.0.0.2,00:11:22:33:44:55\n',
    'create a hash:net family inet6\nadd a 2001:db8::/32\nadd a 2001:db8:1::/48 nomatch\nadd a ::1\n',
    'create a hash:ip,port family inet6\nadd a 1::1,icmpv6:ping\nadd a 1::2,udp:5-6\n',
    'create l list:set\ncreate a hash:ip\ncreate b hash:net\nadd l a\nadd l b\nadd a 1.1.1.1\nadd b 1.1.0.0/16\nadd b 1.1.2.0/24 nomatch\n',
    'create l list:set\ncreate a hash:ip\ncreate b hash:ip family inet6\nadd l a\nadd l b\n',
    'create l list:set timeout 9\ncreate a hash:ip timeout 5\nadd l a\nadd a 1.1.1.1\nadd a 1.1.1.2 timeout 0\ndel l a\nadd l a after x\n',
    'create a hash:ip\nadd a 10.0.0.0/14\n',
    'create a hash:ip\ncreate b hash:ip\nadd a 1.1.1.1\nswap a b\nrename b c\nadd a 2.2.2.2\n',
    'create a hash:net\nadd a 0.0.0.0-255.255.255.255\n',
    'create a hash:ip\nadd a 255.255.255.254-255.255.255.255\n',
    'create a bitmap:port range 65530-65535\nadd a 65534-65535\n',
    'create a hash:ip\nadd a 1.1.1.1\ndel a 1.1.1.1\nadd a 1.1.1.2\ndel a 9.9.9.9 -exist\n',
    'create a hash:ip comment\nadd a 1.1.1.1 comment "x y"\n',
]


@test
def ipset_restores():
    """Sets, elements and errors, in the words of ipset."""
    written("none.nft", "")
    text = ""
    for lines in RESTORES:
        written("sets.ipset", lines)
        run = subprocess.run([TAMIS, "list", "-f", "none.nft", "--ipset", "sets.ipset"], capture_output=True, timeout=60)
        out = run.stdout.decode()
        holds(run.returncode == (1 if "Error" in run.stderr.decode() else 0), lines)
        holds(out == "" or run.returncode == 0, lines)
        if run.returncode == 0:
            written("again.nft", out)
            same(tamis("list", "-f", "again.nft")[0], out)
        text += f"$ {lines.strip()}\n{run.stderr.decode()}{out}\n"
    golden("ipset.out", text)


@test
def ipset_limits():
    written("none.nft", "")
    adds = "".join(f"add x 10.{i >> 16}.{i >> 8 & 255}.{i & 255}\n" for i in range(65792))
    written("sets.ipset", "create x hash:ip maxelem 65792\n" + adds)
    holds("size 65792\t# count 65792\n" in tamis("list", "-f", "none.nft", "--ipset", "sets.ipset")[0])
    for head in ("create x hash:ip\n", "create x hash:ip maxelem 65536\n"):
        written("sets.ipset", head + adds)
        same(tamis("list", "-f", "none.nft", "--ipset", "sets.ipset", status=1),
             ("", "sets.ipset:65538: Error: Hash is full, cannot add more elements\n"))


@test
def ipset_exceptions():
    """Seeded random networks and exceptions against the most specific one that holds an address."""
    dice = random.Random(11)
    written("none.nft", "")
    for _ in range(12):
        nets = {}
        for _ in range(dice.randrange(1, 30)):
            net = ipaddress.ip_network((0xc0a80000 + dice.randrange(256), dice.randrange(24, 33)), strict=False)
            nets[net] = dice.random() < .4
        written("sets.ipset", "create x hash:net\n" +
                "".join(f"add x {net}{' nomatch' if out else ''}\n" for net, out in nets.items()))
        out = tamis("list", "-f", "none.nft", "--ipset", "sets.ipset")[0]
        got = set()
        for first, mask, last in re.findall(r"192\.168\.0\.(\d+)(?:/(\d+)|-192\.168\.0\.(\d+))?", out):
            size = 1 << 32 - int(mask) if mask else 1
            got |= set(range(int(first), int(last) + 1 if last else int(first) + size))
        want = set()
        for host in range(256):
            held = [net for net in nets if ipaddress.ip_address(0xc0a80000 + host) in net]
            if held and not nets[max(held, key=lambda net: net.prefixlen)]:
                want.add(host)
        same(sorted(got), sorted(want))


def hosts(text):
    """The last four bits of "10.0.0.4/30", "10.0.0.1-10.0.0.3" or "10.0.0.1"."""
    first, mask, last = re.fullmatch(r"([\d.]+)(?:/(\d+)|-([\d.]+))?", text).groups()
    first = int(ipaddress.ip_address(first))
    end = int(ipaddress.ip_address(last)) if last else first + (1 << 32 - int(mask)) - 1 if mask else first
    return range(first & 15, (end & 15) + 1)


@test
def ipset_exceptions_of_pairs():
    """The same with two networks an element: the first one's length counts before the second's."""
    dice = random.Random(5)
    written("none.nft", "")
    for _ in range(10):
        nets = {}
        for _ in range(dice.randrange(1, 25)):
            pair = tuple(ipaddress.ip_network((base + dice.randrange(16), dice.randrange(28, 33)), strict=False)
                         for base in (0x0a000000, 0x14000000))
            nets[pair] = dice.random() < .4
        written("sets.ipset", "create x hash:net,net\n" +
                "".join(f"add x {a},{b}{' nomatch' if out else ''}\n" for (a, b), out in nets.items()))
        out = tamis("list", "-f", "none.nft", "--ipset", "sets.ipset")[0]
        got = {(x, y) for a, b in re.findall(r"(10\.[\d./-]+) \. (20\.[\d./-]+)", out) for x in hosts(a) for y in hosts(b)}
        want = set()
        for x in range(16):
            for y in range(16):
                held = [n for n in nets if ipaddress.ip_address(0x0a000000 + x) in n[0]
                        and ipaddress.ip_address(0x14000000 + y) in n[1]]
                if held and not nets[max(held, key=lambda n: (n[0].prefixlen, n[1].prefixlen))]:
                    want.add((x, y))
        same(sorted(got), sorted(want))


@test
def ipset_with_rules():
    written("sets.ipset", "create every hash:net\nadd every 0.0.0.0/1\nadd every 128.0.0.0/1\ncreate none hash:ip\n")
    written("rules.nft", "table inet global { chain c { type filter hook input priority 0; ip saddr @none counter\n"
            "ip saddr @every drop\n}; }\n")
    got = report("-f", "rules.nft", "--ipset", "sets.ipset", "--path", "input", CAPTURE)
    same([r["packets"] > 0 for r in got["rules"]], [False, True])
    same(tamis("check", "-f", "rules.nft", "--ipset", "no/such/file", status=1)[1],
         "tamis: no/such/file: No such file or directory\n")
    same(tamis("check", "-f", "rules.nft", "--ipset", "-", stdin=b"create every hash:ip\ncreate none hash:ip\n"), ("", ""))
    written("more.ipset", "add none 1.2.3.4\n")
    holds("1.2.3.4" in tamis("list", "-f", "rules.nft", "--ipset", "sets.ipset", "--ipset", "more.ipset")[0])


@test
def ipset_overlaps_are_united():
    """Networks in one another, ranges that cross, and the same beside ports."""
    written("none.nft", "")
    written("sets.ipset", "create n hash:net\nadd n 192.168.0.0/24\nadd n 192.168.0.1\nadd n 10.0.0.1-10.0.0.10\n"
            "add n 10.0.0.5-10.0.0.20\ncreate p hash:net,port\nadd p 10.0.0.0/24,80-90\nadd p 10.0.0.0/25,85-95\n"
            "create i hash:ip\nadd i 10.0.0.1-10.0.0.10\n-exist add i 10.0.0.5-10.0.0.20\n")
    out = tamis("list", "-f", "none.nft", "--ipset", "sets.ipset")[0]
    sets = {m[1]: m[2] for m in re.finditer(r"set (\w) {(.*?)\n\t}", out, re.S)}
    got = set()
    for text in re.findall(r"10\.0\.0\.[\d./-]+", sets["n"]):
        first, mask, last = re.fullmatch(r"([\d.]+)(?:/(\d+)|-([\d.]+))?", text).groups()
        first = int(first.split(".")[3])
        got |= set(range(first, int(last.split(".")[3]) + 1 if last else first + (1 << 32 - int(mask or 32))))
    same(sorted(got), list(range(1, 21)))
    holds("192.168.0.0/24" in sets["n"], out)
    same(sorted(int(h) for h in re.findall(r"10\.0\.0\.(\d+)", sets["i"])), list(range(1, 21)))
    written("rules.nft", "table inet global { chain c { type filter hook input priority 0; "
            "ip saddr . meta l4proto . th dport @p counter; }; }\n")
    same(tamis("check", "-f", "rules.nft", "--ipset", "sets.ipset"), ("", ""))
    written("lines.nft", "table ip f { set s { type ipv4_addr; flags interval; elements = { 10.0.0.1-10.0.0.10, 10.0.0.5-10.0.0.20 }; }; }\n")
    err = tamis("check", "-f", "lines.nft", status=1)[1]
    holds("conflicting intervals" in err and "10.0.0.5-10.0.0.20" in err and "10.0.0.1-10.0.0.10" in err, err)


@test
def ipset_of_a_great_blocklist():
    """1.7 million addresses and 56,000 prefixes: bytes an element, and all or none of them."""
    def lines(extra):
        yield f"create b hash:ip maxelem 2000000{' counters' if extra else ''}\n"
        yield f"create n hash:net{' counters' if extra else ''}\n"
        for i in range(1700000):  # spread by an odd factor, each once
            a = (i + 1) * 2654435761 & 0xffffffff
            yield f"add b {a >> 24}.{a >> 16 & 255}.{a >> 8 & 255}.{a & 255}{extra}\n"
        for i in range(56000):
            yield f"add n {1 + i // 4096}.{i // 16 % 256}.{i % 16 * 16}.0/{20 + i % 13}{extra}\n"
    written("none.nft", "")
    for extra, most in (("", 60), (" packets 3 bytes 180", 500)):
        with open("sets.ipset", "w") as f:
            f.writelines(lines(extra))
        before = os.times()
        with subprocess.Popen([TAMIS, "check", "-f", "none.nft", "--ipset", "sets.ipset"]) as run:
            used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(used[1])
        same(run.returncode, 0)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        if not SANITIZED:
            holds(used[2].ru_maxrss * 1024 < 1756000 * most, f"{used[2].ru_maxrss} KiB")
            holds(seconds < 40, f"{seconds} s")
        with open("sets.ipset", "a") as f:
            f.write("add n nonsense\n")
        same(tamis("check", "-f", "none.nft", "--ipset", "sets.ipset", status=1)[1],
             "sets.ipset:1756003: Error: Syntax error: cannot parse nonsense: resolving to IPv4 address failed\n")


@test
def ipsets_of_others():
    folder = os.path.join(os.environ.get("TAMIS_DATA") or os.path.join(ROOT, "..", "shared", "data"), "ipsets", "restore")
    if not os.path.isdir(folder):
        raise Skipped("no ipsets/restore in $TAMIS_DATA")
    written("none.nft", "")
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name == "k8s-ipset.txt":  # adds to a set that it does not make
            holds(":1: Error: " in tamis("check", "-f", "none.nft", "--ipset", path, status=1)[1])
        else:
            same(tamis("check", "-f", "none.nft", "--ipset", path), ("", ""))


# --- replay: the report ----------------------------------------------------------------------

@test
def report_text():
    out, err = tamis(*REPLAY, "--iif", "eth0", CAPTURE)
    same(err, "")
    golden("replay.out", masked(out))


@test
def report_is_repeatable():
    same(masked(tamis(*REPLAY, CAPTURE)[0]), masked(tamis(*REPLAY, CAPTURE)[0]))


@test
def report_top():
    golden("replay-top.out", masked(tamis(*REPLAY, "--top", "3", CAPTURE)[0]))
    full, top = report("-f", RULES, *LOCAL, CAPTURE), report("-f", RULES, *LOCAL, "--top", "3", CAPTURE)
    best = sorted(full["rules"], key=lambda r: -r["packets"])
    same(top["rules"], best[:3])
    same(report("-f", RULES, *LOCAL, "--top", "9999", CAPTURE)["rules"], best)
    args = ["--acl", ACLS, *LOCAL]
    entries = [{"kind": a["kind"], "index": a["index"], "tag": a["tag"], "entry": k, **e}
               for a in report(*args, CAPTURE)["acls"] for k, e in enumerate(a["entries"])]
    entries.sort(key=lambda e: -e["packets"])
    for n in (1, 3, 9999):
        got = report(*args, "--top", str(n), CAPTURE)
        same(got["acl_entries"], entries[:n])
        holds("acls" not in got)
    e = entries[0]
    text = tamis("replay", *args, "--top", "1", CAPTURE)[0]
    holds(f"\nEntries of ACLs: the 1 most hit of {len(entries)}\n" in text, text)
    holds(re.search(rf"(?m)^ +{e['packets']} +{e['bytes']}  ACL {e['index']}[^,\n]*, entry {e['entry']}: {re.escape(e['rule'])}$",
                    text), text)
    written("row.vpp", "".join(f"set acl-plugin acl index {i} permit\n" for i in range(9)) +
            "".join(f"set acl-plugin interface a input acl {i}\n" for i in (5, 6, 7, 8, 2, 1, 3, 4, 0)))
    holds("  a input, ACL 5-8, 2, 1, 3, 4, 0\n" in tamis("replay", "--acl", "row.vpp", CAPTURE)[0])


@test
def report_json():
    out = tamis(*REPLAY, "--json", CAPTURE)[0]
    same(out.count("\n"), 1)
    golden("replay.json", json.dumps(speedless(json.loads(out)), indent=1) + "\n")


@test
def json_takes_any_byte_of_a_comment():
    written("bytes.nft", b'table inet t { chain c { type filter hook forward priority 0; meta mark 1 comment "\xff\xfe"; }; }\n')
    for args in (["replay", "--json", "-f", "bytes.nft", CAPTURE], ["explain", "-j", "-f", "bytes.nft"]):
        got = json.loads(tamis(*args)[0])
        rules = got["rules"] if "rules" in got else got["chains"][0]["rules"]
        same([r["rule"] for r in rules], ['meta mark 0x00000001 comment "\u00ff\u00fe"'])


@test
def ipset_list_without_members():
    written("empty.ipset", b"create l list:set\n")
    same(tamis("check", "--ipset", "empty.ipset")[1], "empty.ipset: list 'l' is left out: it has no members\n")


@test
def ipset_sets_that_rules_cannot_use():
    """Such a set is left out and named; the others are there."""
    written("good.nft", b"table inet global { chain c { type filter hook input priority 0; ip saddr @good drop; }; }\n")
    for lines, why in [
        ("create h hash:ip bitmask 255.0.255.0\ncreate x list:set\nadd x h\n", "a bitmask with holes, which no list here can have"),
        ("create h hash:ip,mark markmask 0xff00\ncreate x list:set\nadd x h\n", "a markmask with holes, which no list here can have"),
        ("create x hash:net,iface\nadd x 192.0.2.0/24,physdev:eth0\n", "physdev: is not known here"),
    ]:
        written("some.ipset", ("create good hash:ip\nadd good 192.0.2.1\n" + lines + "create last hash:net\n").encode())
        out, err = tamis("list", "--ipset", "some.ipset", "-f", "good.nft")[:2]
        same(re.sub("^(.*: )(set|list)", r"\1it", err), f"some.ipset: it 'x' is left out: {why}\n")
        same([line.split()[1] for line in out.splitlines() if line.startswith("\tset") and line != "\tset h {"], ["good", "last"])


@test
def error_far_out_in_a_line():
    """The part of the line that has the place is shown, and no more."""
    many = ", ".join(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(100000))
    written("far.nft", f"table ip t {{ set s {{ type ipv4_addr; elements = {{ {many}, 10.9.9.9 ] }}; }}; }}\n".encode())
    lines = tamis("check", "-f", "far.nft", status=1)[1].split("\n")
    assert len(lines[1]) < 5000, len(lines[1])
    same(lines[1][lines[2].index("^") - 9:][:10], "10.9.9.9 ]")


@test
def ipset_sets_elsewhere():
    """Rules of another table do not find the sets: what is said tells why. Those of a reload do."""
    written("one.ipset", b"create x hash:ip\nadd x 192.0.2.1\n")
    chain = "chain c { type filter hook input priority 0; ip saddr @x drop; }; }\n"
    written("here.nft", ("table inet global { " + chain).encode())
    written("there.nft", ("table inet filter { " + chain).encode())
    where = "tamis: sets of --ipset are in table inet global, for rules there"
    same(tamis("check", "--ipset", "one.ipset", "-f", "there.nft", status=1)[1].splitlines()[-1], where)
    tamis("replay", "-q", "--ipset", "one.ipset", "-f", "here.nft", "--reload", "9=here.nft", CAPTURE)


@test
def explain_wants_rules():
    same(tamis("explain", "--acl", ACLS, status=1)[1].splitlines()[0], "tamis: no ruleset: give one with -f FILE")


@test
def explain_names_a_huge_anonymous_set():
    elements = ", ".join(f"10.0.{i >> 8}.{i & 255}" for i in range(1000))
    for n, text in ((1000, elements), (999, elements[:elements.rindex(",")])):
        written("huge.nft", f"table ip t {{ chain c {{ ip saddr {{ {text} }} drop; }}; }}\n".encode())
        out = tamis("explain", "-f", "huge.nft")[0]
        same("! handle 3: an anonymous set of 1000 elements" in out, n == 1000)
        advice = json.loads(tamis("explain", "-j", "-f", "huge.nft")[0])["chains"][0]["advice"]
        same([(a["kind"], a["handle"], a["n"]) for a in advice], [("anonymous-set", 3, 1000)] if n == 1000 else [])


@test
def explain_knows_what_it_costs():
    def cost(rules):
        written("cost.nft", f"table ip t {{ chain c {{ {'; '.join(rules)}; }}; }}\n".encode())
        chain = json.loads(tamis("explain", "-j", "-f", "cost.nft")[0])["chains"][0]
        return chain["cost_ns"], chain["kernel_ns"]
    same(cost(["ip saddr 10.0.0.1 drop"] * 4), (11, 20))
    same(cost(["ip saddr 10.0.0.1 udp dport 1 drop"])[1], 12)
    many = [f"ip saddr 10.0.{i >> 8}.{i & 255} drop" for i in range(1000)]
    here, kernel = cost(many)
    same(kernel, 5000)
    holds(32 <= here <= 60, f"{here} ns for the classifier")
    # A kernel's lookups cost what sets hold, between what was measured.
    def one_set(kind, elements, rule="ip saddr @s drop"):
        written("cost.nft", f"table ip t {{ set s {{ type {kind}; elements = {{ {', '.join(elements)} }}; }}\n"
                            f"chain c {{ {rule}; }}; }}\n".encode())
        return json.loads(tamis("explain", "-j", "-f", "cost.nft")[0])["chains"][0]["kernel_ns"]
    plain = [f"10.0.{i >> 8}.{i & 255}" for i in range(1000)]
    ranges = [f"10.{i >> 8}.{i & 255}.0-10.{i >> 8}.{i & 255}.77" for i in range(1000)]
    pairs = [f"10.{i >> 8}.{i & 255}.0/24 . 1-99" for i in range(1000)]
    same(one_set("ipv4_addr", plain), 5 + 80)
    same(one_set("ipv4_addr", plain[:1]), 5 + 55)
    same(one_set("ipv4_addr", plain, "tcp dport 22 ip saddr @s drop"), 5 + (7 + 80) // 2)
    same(one_set("ipv4_addr; flags interval", ranges), 5 + 460)
    same(one_set("ipv4_addr; flags interval", ranges[:10]), 5 + 140)
    holds(5 + 270 < one_set("ipv4_addr; flags interval", ranges[:300]) < 5 + 460)
    same(one_set("ipv4_addr . inet_service; flags interval", pairs, "ip saddr . tcp dport @s drop"), 5 + 410 // 2)
    same(one_set("inet_service", ["22", "80"], "tcp dport @s drop"), 5 + 7 // 2)


@test
def report_json_schema():
    got = report("-f", RULES, *LOCAL, CAPTURE)
    same(list(got), ["packets", "bytes", "accepted", "dropped", "rejected", "queued", "malformed", "rules",
                     "chains", "sets", "elapsed_ns", "ns_per_packet", "verdict_bytes", "unseen", "refused",
                     "malformed_packets", "not_tracked", "too_deep", "no_interface", "unready"])
    shapes = {"rules": {"family": str, "table": str, "chain": str, "handle": int, "rule": str, "packets": int,
                        "bytes": int, "reached": int},
              "chains": {"family": str, "table": str, "chain": str, "packets": int, "policy_packets": int},
              "sets": {"family": str, "table": str, "name": str, "elements": int, "hits": int, "added": int,
                       "expired": int, "full": int, "unready": int}}
    for key, shape in shapes.items():
        holds(got[key], f"no {key}")
        for item in got[key]:
            same({k: type(v) for k, v in item.items()}, shape)
    holds(all(isinstance(v, int) for v in got["malformed"].values()) and got["malformed"])
    same(type(got["elapsed_ns"]), int)
    same(type(got["ns_per_packet"]), float)
    same(got["accepted"] + got["dropped"] + got["rejected"] + got["queued"], got["packets"])
    same(got["packets"], len(packets_of(CAPTURE)))
    same(got["bytes"], sum(map(len, packets_of(CAPTURE))))


@test
def report_agrees_with_the_listing():
    rules = report("-f", RULES, *LOCAL, CAPTURE)["rules"]
    listed = [line.strip() for line in tamis("list", "-s", "-f", RULES)[0].splitlines()]
    for rule in rules:
        holds(rule["rule"] in listed, rule["rule"])


@test
def report_colours_only_on_terminals():
    holds("\033" not in tamis(*REPLAY, CAPTURE, env={"TERM": "xterm"})[0])
    for env, wanted in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                        ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": ""}, True)):
        try:
            master, slave = os.openpty()
        except OSError as error:
            raise Skipped(f"no pseudo-terminal here: {error}") from error
        run = subprocess.Popen([TAMIS, *REPLAY, CAPTURE], stdout=slave, stderr=subprocess.PIPE,
                               env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **env})
        os.close(slave)
        text = b""
        while True:
            try:
                more = os.read(master, 4096)
            except OSError:
                break
            if not more:
                break
            text += more
        os.close(master)
        run.stderr.close()
        same(run.wait(), 0)
        same((b"\033[" in text), wanted)


@test
def quiet():
    same(tamis(*REPLAY, "-q", CAPTURE), ("", ""))


@test
def empty_capture():
    with open(CAPTURE, "rb") as f:
        written("empty.pcap", f.read(24))
    got = report("-f", RULES, "empty.pcap")
    same((got["packets"], got["ns_per_packet"]), (0, 0.0))
    holds("Verdicts" in tamis("replay", "-f", RULES, "empty.pcap")[0])


@test
def empty_ruleset_accepts():
    written("empty.nft", "# nothing\n")
    got = report("-f", "empty.nft", CAPTURE)
    same((got["accepted"], got["dropped"]), (95, 2))  # IP itself refuses a checksum and a length
    same((got["rules"], got["chains"], got["sets"]), ([], [], []))


# --- replay: rulesets, paths, interfaces -----------------------------------------------------

@test
def rules_from_stdin_and_several_files():
    got = report("-f", "-", CAPTURE, stdin=DROP_ALL.encode())
    same(got["accepted"], sum(p[12:14] not in (b"\x08\x00", b"\x86\xdd", b"\x81\x00") for p in packets_of(CAPTURE)))
    written("rest.nft", "add rule inet t c accept\n")
    written("all.nft", DROP_ALL)
    holds(report("-f", "all.nft", "-f", "rest.nft", CAPTURE)["accepted"] > got["accepted"])


@test
def capture_from_stdin():
    with open(CAPTURE, "rb") as f:
        data = f.read()
    same(speedless(report("-f", RULES, *LOCAL, "-", stdin=data)), speedless(report("-f", RULES, *LOCAL, CAPTURE)))
    same(speedless(report("-f", RULES, *LOCAL, "-", stdin=gzip.compress(data))),
         speedless(report("-f", RULES, *LOCAL, CAPTURE)))


@test
def bad_ruleset():
    written("bad.nft", "table ip t { chain c { nonsense; }; }\n")
    out, err = tamis("replay", "-f", "bad.nft", "-w", "never.pcap", CAPTURE, status=1)
    same(out, "")
    holds(err.startswith("bad.nft:1:"), err)
    holds(not os.path.exists("never.pcap"))


@test
def paths():
    written("hooks.nft", "table inet t {\n" + "".join(
        f"chain {h} {{ type filter hook {h} priority 0; }}\n"
        for h in ("prerouting", "input", "forward", "output", "postrouting")) + "}\n")
    wanted = {"input": {"prerouting", "input"}, "forward": {"prerouting", "forward", "postrouting"},
              "output": {"output", "postrouting"}, "bridge": set(),
              "auto": {"prerouting", "forward", "postrouting"}}
    for path, chains in wanted.items():
        got = report("-f", "hooks.nft", "--path", path, CAPTURE)
        same({c["chain"] for c in got["chains"] if c["packets"]}, chains)
    got = report("-f", "hooks.nft", *LOCAL, CAPTURE)
    entered = {c["chain"]: c["packets"] for c in got["chains"]}
    holds(entered["input"] > 50 and entered["output"] > 15 and entered["forward"] == 0, str(entered))


@test
def interfaces():
    written("if.nft", "table inet t { chain c { type filter hook forward priority 0;\n"
                      'iifname "in0" oifname "out0" accept\niif "in0" accept\ndrop\n}; }\n')
    both = report("-f", "if.nft", "--iif", "in0", "--oif", "out0", CAPTURE)
    one = report("-f", "if.nft", "--iif", "in0", CAPTURE)
    none = report("-f", "if.nft", CAPTURE)
    holds(both["rules"][0]["packets"] > 90 and both["rules"][1]["packets"] == 0)
    holds(one["rules"][0]["packets"] == 0 and one["rules"][1]["packets"] > 90)
    holds(none["rules"][2]["packets"] > 90)


def pcapng(name, interface, packets):
    """A pcapng file with one Ethernet interface."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    data = block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1))
    option = struct.pack("<HH", 2, len(interface)) + interface + bytes(-len(interface) % 4) + bytes(4)
    data += block(1, struct.pack("<HHI", 1, 0, 0) + option)
    for n, p in enumerate(packets):
        data += block(6, struct.pack("<IIIII", 0, 0, n, len(p), len(p)) + p)
    return written(name, data)


def timed_pcap(name, packets):
    """A pcap file of Ethernet packets, each with its time in seconds."""
    data = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for at, p in packets:
        data += struct.pack("<IIII", int(at), round(at % 1 * 1e6), len(p), len(p)) + p
    return written(name, data)


@test
def times_that_go_back():
    """What of a time that has passed is still there does not depend on where bursts end."""
    p = packets_of(CAPTURE)[8]
    other = p[:6] + b"\x02\0\0\0\0\x77" + p[12:]
    timed_pcap("back.pcap", [(1000, p), (5000, other), (1000.5, p), (1000.25, p), (5012, p), (5030, p)])
    written("back.nft", b"""table inet t {
	set s { type ether_addr; flags dynamic, timeout; timeout 10s; }
	chain f { type filter hook forward priority 0; ether saddr @s drop; add @s { ether saddr }; }
}
""")
    same(report("-f", "back.nft", "back.pcap")["dropped"], 1)
    for at in "12345":
        same(report("-f", "back.nft", "--reload", f"{at}=back.nft", "back.pcap")["dropped"], 1)
    same(tamis("replay", "-q", "-f", "back.nft", "back.pcap")[1],
         "tamis: 2 packets up to 3999.750000 s earlier than one before: counted as at that one's time\n")


@test
def nothing_steers_a_terminal():
    """Names of a capture's interfaces and words of ACLs that are no text."""
    pcapng("forged.pcapng", b"e0\x1b[2J\nforged", packets_of(CAPTURE)[:20])
    written("log.nft", b"""table inet t {
	chain f { type filter hook forward priority 0; iifname "e0?[2J?forged" log prefix "seen "; }
}
""")
    out, err = tamis("replay", "-f", "log.nft", "--trace", "--log", "forged.log", "forged.pcapng")
    with open("forged.log") as lines:
        log = lines.read()
    holds("seen IN=e0?[2J?forged " in log, log)
    for text in (out, err, log):
        holds("\x1b" not in text and "\nforged" not in text, text)
    for line in ("set acl-plugin acl \x1b[2J", "set acl-plugin interface a \x07 acl 0", "x\x1b[2J\x7f y"):
        written("bell.acl", line.encode())
        err = tamis("replay", "--acl", "bell.acl", CAPTURE, status=line[0] == "s")[1]
        holds("?" in err and not set(err) & set("\x1b\x07\x7f"), err)


@test
def rules_that_nothing_tells_apart():
    """More ranges of ports that overlap than one ACL may have, and as many as it may."""
    ranges = [f"permit src 0.0.0.0/0 dst 0.0.0.0/0 proto 6 dport {i}-{65535 - i}" for i in range(5000)]
    for n, status in ((4096, 0), (5000, 1)):
        written("ranges.acl", f"set acl-plugin acl index 0 {', '.join(ranges[:n])}\n"
                "set acl-plugin interface e0 input acl 0\n".encode())
        err = tamis("replay", "-q", "--acl", "ranges.acl", "--iif", "e0", CAPTURE, status=status)[1]
        holds(err.startswith("ranges.acl:1: Error: too many rules of this ACL overlap") == (n == 5000), err)


@test
def interface_names_of_pcapng():
    pcapng("if.pcapng", b"wan0", packets_of(CAPTURE)[:20])
    written("wan.nft", 'table inet t { chain c { type filter hook forward priority 0; iifname "wan0" drop; }\n'
                       'chain o { type filter hook output priority 0; oifname "wan0" iifname != "wan0" drop; }; }\n')
    holds(report("-f", "wan.nft", "if.pcapng")["dropped"] > 15)
    holds(report("-f", "wan.nft", "--iif", "other", "if.pcapng")["dropped"] == 0)
    pcapng("long.pcapng", b"a-name-that-is-too-long", packets_of(CAPTURE)[:20])
    holds(report("-f", "wan.nft", "long.pcapng")["dropped"] == 0)


@test
def time_is_the_captures():
    """An element's lifetime ends by the packets' clock, and begins with the first packet."""
    written("time.nft", "table ip t { set s { type ipv4_addr; flags timeout; "
                        "elements = { 203.0.113.150 timeout 10s }; }\n"
                        "chain c { type filter hook forward priority 0; ip saddr @s drop; }; }\n")
    got = report("-f", "time.nft", CAPTURE)
    same(got["rules"][0]["packets"], 12)
    same((got["sets"][0]["elements"], got["sets"][0]["hits"], got["sets"][0]["expired"]), (0, 12, 1))


# --- replay: captures out --------------------------------------------------------------------

@test
def written_captures():
    got = report("-f", RULES, *LOCAL, "-w", "yes.pcap", "--dropped", "no.pcap", CAPTURE)
    accepted, dropped = packets_of("yes.pcap"), packets_of("no.pcap")
    same(len(accepted), got["accepted"])
    same(len(dropped), got["dropped"] + got["rejected"])
    same(sorted(accepted + dropped), sorted(packets_of(CAPTURE)))
    again = report("-f", RULES, *LOCAL, "yes.pcap")
    same(again["packets"], got["accepted"])
    holds(not [f for f in os.listdir(".") if f.startswith(("yes.pcap.", "no.pcap.", ".yes", ".no"))])
    os.mkdir("deep")
    for link, to in (("link.pcap", "deep/real.pcap"), ("deep/two", "../link.pcap"), ("round", "round")):
        os.symlink(to, link)
    for _ in range(2):
        tamis(*REPLAY, "-q", "-w", "deep/two", CAPTURE)
        same(packets_of("deep/real.pcap"), accepted)
        holds(os.path.islink("deep/two") and os.path.islink("link.pcap"))
    tamis(*REPLAY, "-q", "-w", "round", CAPTURE, status=1)


@test
def written_to_stdout():
    run = subprocess.run([TAMIS, *REPLAY, "-q", "-w", "-", CAPTURE], stdout=subprocess.PIPE, check=True)
    written("out.pcap", run.stdout)
    tamis(*REPLAY, "-q", "-w", "yes.pcap", CAPTURE)
    same(packets_of("out.pcap"), packets_of("yes.pcap"))


@test
def written_packets_are_as_rules_left_them():
    written("ttl.nft", "table ip t { chain c { type filter hook forward priority 0; ip ttl set 3; }; }\n")
    tamis("replay", "-q", "-f", "ttl.nft", "-w", "ttl.pcap", CAPTURE)
    ttls = {p[22] for p in packets_of("ttl.pcap") if p[12:14] == b"\x08\x00" and p[14:15] == b"\x45"}
    holds(3 in ttls and ttls <= {3, 64}, str(ttls))


# --- replay: traces and logs -----------------------------------------------------------------

@test
def trace_of_an_expression():
    out = tamis(*REPLAY, "-q", "--trace=ip saddr 203.0.113.150 tcp dport 22", CAPTURE)[0]
    golden("trace.out", out)
    same({line.split()[2] for line in out.splitlines()}, {str(n) for n in range(75, 88)})


@test
def trace_of_everything():
    out = tamis(*REPLAY, "-q", "--trace", CAPTURE)[0]
    ids = [int(line.split()[2]) for line in out.splitlines()]
    same(ids, sorted(ids))
    holds(len(set(ids)) > 90)
    report_too = tamis(*REPLAY, "--trace", CAPTURE)[0]
    holds(report_too.startswith(out + "\nVerdicts\n"))


@test
def trace_expressions():
    for expr, packets in (("arp operation request", 0), ("ip6 saddr 2001:db8:bad::/48", 1), ("vlan id 20", 1),
                          ("udp dport { 67, 137 }", 2), ("meta l4proto ipv6-icmp", 4)):
        out = tamis(*REPLAY, "-q", f"--trace={expr}", CAPTURE)[0]
        same((expr, len({line.split()[2] for line in out.splitlines()})), (expr, packets))


@test
def trace_bad_expression():
    out, err = tamis(*REPLAY, "--trace=ip saddr nonsense nowhere", CAPTURE, status=1)
    same(out, "")
    holds(err.startswith("tamis: --trace: Error: ") and "\nip saddr nonsense nowhere\n" in err and "^" in err, err)
    holds("add rule" not in err, err)


@test
def trace_names_values():
    out = tamis(*REPLAY, "-q", "--trace=icmp type echo-request", CAPTURE)[0]
    holds("ip dscp cs0 ip ecn not-ect" in out and "icmp type echo-request icmp code 0" in out, out)
    out = tamis(*REPLAY, "-q", "--trace=meta l4proto ipv6-icmp", CAPTURE)[0]
    holds("ip6 dscp cs0" in out and re.search(r"icmpv6 type [a-z]", out), out)
    holds(re.search(r"udp dport 67 udp length \d+ ", tamis(*REPLAY, "-q", "--trace=udp dport 67", CAPTURE)[0]))


@test
def trace_of_nothing():
    same(tamis(*REPLAY, "-q", "--trace=ip saddr 1.1.1.1", CAPTURE), ("", "tamis: no packet matched --trace=ip saddr 1.1.1.1\n"))


@test
def trace_with_json_goes_to_stderr():
    out, err = tamis(*REPLAY, "--json", "--trace=udp dport 67", CAPTURE)
    json.loads(out)
    holds(err.startswith("trace id "), err)


@test
def trace_asked_for_by_a_rule():
    written("nftrace.nft", "table ip t { chain c { type filter hook forward priority 0;\n"
                           "udp dport 67 meta nftrace set 1\naccept\n}; }\n")
    out = tamis("replay", "-q", "-f", "nftrace.nft", "--trace=udp dport 1", CAPTURE)[0]
    holds("(verdict accept)" in out and {line.split()[2] for line in out.splitlines()} == {"4"}, out)


@test
def log_lines():
    tamis(*REPLAY, "-q", "--iif", "eth0", "--log", "log.txt", CAPTURE)
    with open("log.txt") as f:
        text = f.read()
    golden("log.txt", text)
    holds(re.match(r"\[1700000000\.\d{6}\] dropped: IN=eth0 OUT= MAC=02:", text), text)
    traced = tamis(*REPLAY, "-q", "--trace=tcp dport 6667", CAPTURE)[0]
    holds(" log calls home: IN= OUT= SRC=192.0.2.1 DST=198.51.100.17 " in traced, traced)


# --- failures --------------------------------------------------------------------------------

@test
def missing_capture():
    same(tamis("replay", "-f", RULES, "no/such.pcap", status=1)[1], "tamis: no/such.pcap: No such file or directory\n")


@test
def not_a_capture():
    out, err = tamis("replay", "-f", RULES, "-w", "never.pcap", RULES, status=1)
    same(out, "")
    holds(err.startswith("tamis: ") and "firewall.nft" in err, err)
    holds(not os.path.exists("never.pcap"))
    tamis("replay", "-f", RULES, "-", stdin=b"", status=1)


@test
def refused_link_type():
    with open(CAPTURE, "rb") as f:
        data = f.read()
    written("wifi.pcap", data[:20] + struct.pack("<I", 105) + data[24:])
    out, err = tamis("replay", "-f", RULES, "wifi.pcap", status=1)
    same(out, "")
    holds("802_11" in err, err)


@test
def capture_cut_off():
    with open(CAPTURE, "rb") as f:
        data = f.read()
    written("cut.pcap", data[:-7])
    out, err = tamis("replay", "--json", "-f", RULES, *LOCAL, "cut.pcap", "-w", "kept.pcap")
    same(json.loads(out)["packets"], len(packets_of(CAPTURE)) - 1)
    holds("cut.pcap" in err and len(err.splitlines()) == 1, err)
    packets_of("kept.pcap")


@test
def capture_damaged():
    with open(CAPTURE, "rb") as f:
        data = bytearray(f.read())
    data[24 + 8:24 + 12] = b"\xff\xff\xff\x7f"
    written("broken.pcap", bytes(data))
    out, err = tamis("replay", "--json", "-f", RULES, "broken.pcap", status=1)
    same(json.loads(out)["packets"], 0)
    holds("broken.pcap" in err, err)


@test
def full_disk():
    with open("/dev/full", "w") as full:
        for args in ([*REPLAY, CAPTURE], [*REPLAY, "--json", CAPTURE], [*REPLAY, "-q", "--trace", CAPTURE],
                     ["list", "-f", RULES], ["list", "-j", "-f", RULES], ["--version"], ["help"],
                     ["replay", "--help"]):
            err = tamis(*args, stdout=full, status=1)[1]
            same(err, "tamis: standard output: No space left on device\n")
        err = tamis("ipset", "-", stdin=b"create s hash:ip\nlist s\nadd s 1.1.1.1\n", stdout=full, status=1)[1]
        same(err, "tamis: standard output: No space left on device\n")
    for option in ("-w", "--dropped", "--log"):
        out, err = tamis(*REPLAY, "-q", option, "/dev/full", CAPTURE, status=1)
        holds("/dev/full" in err and "No space left on device" in err, err)


@test
def unwritable_output():
    for option in ("-w", "--dropped", "--log"):
        out, err = tamis(*REPLAY, option, "no/such/dir/x", CAPTURE, status=1)
        same(out, "")
        holds("no/such/dir/x: " in err and "No such file or directory" in err, err)


def without_reader(*args):
    run = subprocess.Popen([TAMIS, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.close()
    err = run.stderr.read().decode()
    run.stderr.close()
    return run.wait(), err


@test
def closed_pipe():
    """A reader that has enough is no failure, unless it was to get a capture."""
    for args in ([*REPLAY, CAPTURE], [*REPLAY, "--json", CAPTURE], [*REPLAY, "--trace", CAPTURE], ["list", "-f", RULES],
                 ["--help"], ["--version"], ["help", "replay"], ["list", "--acl", ACLS], ["list", "-j", "--acl", ACLS],
                 ["check", "--acl", "show.vpp"], ["ipset", "help"], ["ipset", "--state", "sets", "list"]):
        written("show.vpp", "set acl-plugin acl permit\nshow acl-plugin acl\n")
        same(without_reader(*args), (0, ""))
    same(without_reader(*REPLAY, "-q", "-w", "-", CAPTURE), (1, "tamis: standard output: writing failed: Broken pipe\n"))
    for more in ([], ["--trace"]):
        same(without_reader(*REPLAY, *more, "-w", "kept.pcap", CAPTURE), (0, ""))
        same(len(packets_of("kept.pcap")), report(*REPLAY[1:], CAPTURE)["accepted"])
        os.unlink("kept.pcap")


@test
def listings_in_rulesets_keep_out_of_the_way():
    written("listing.nft", "table ip t { set s { type ipv4_addr; }; }\nlist ruleset\n")
    run = subprocess.run([TAMIS, "replay", "-q", "-f", "listing.nft", "-w", "-", CAPTURE], capture_output=True, check=True)
    holds(b"set s" in run.stderr and b"set s" not in run.stdout)
    holds("set s" in tamis("replay", "-f", "listing.nft", CAPTURE)[0])


@test
def chains_off_the_path_are_told():
    off = lambda *args: tamis("replay", "-q", *args, CAPTURE)[1]
    same(off("-f", RULES), "tamis: no packet came to the chains at input, output: "
         "all are forwarded without --local ADDRESS of this host or a --path\n")
    same(off("-f", RULES, *LOCAL), "")
    holds("at forward, output: all came in" in off("-f", RULES, "--path", "input"))
    written("bridge.nft", "table bridge b { chain c { type filter hook forward priority 0; }; }\n"
            "table arp a { chain c { type filter hook input priority 0; }; }\n")
    same(off("-f", "bridge.nft"), "tamis: no packet came to the chains of family bridge: --path bridge is theirs\n")
    holds("of other families than bridge" in off("-f", "bridge.nft", "--path", "bridge"))
    written("regular.nft", "table ip t { chain input { drop; }; }\n")
    same(off("-f", "regular.nft"), "")


@test
def report_adds_up():
    got = report(*REPLAY[1:], CAPTURE)
    same(sum(got["verdict_bytes"].values()), got["bytes"])
    same((got["refused"], got["unseen"]), (2, 1))
    holds(got["malformed_packets"] == 3 and got["malformed_packets"] <= sum(got["malformed"].values()))
    holds(all(r["reached"] >= r["packets"] for r in got["rules"]) and got["rules"][0]["reached"] == 67)
    written("full.nft", "table ip t { set s { type ipv4_addr; size 2; flags dynamic; }\n"
            "chain c { type filter hook forward priority 0; add @s { ip saddr }; }; }\n")
    got = report("-f", "full.nft", CAPTURE)
    holds(got["sets"][0]["full"] > 0 and got["sets"][0]["elements"] == 2)
    got = report("-f", written("none.nft", ""), CAPTURE)
    same(got["unseen"] + got["refused"], got["packets"])


def from_many(n):
    """A datagram from each of n addresses."""
    for i in range(n):
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, bytes([10, 1, i >> 8, i & 255]), b"\x0a\2\0\1")
        total = sum(struct.unpack(">10H", ip))
        total = (total & 0xffff) + (total >> 16)
        yield b"\2" * 12 + b"\x08\0" + ip[:10] + struct.pack(">H", ~total & 0xffff) + ip[12:] + struct.pack(">HHHH", 5, 53, 8, 0)


@test
def report_tells_what_was_not_ready():
    """More in one burst than is made ready for one: it is done all the same, and told."""
    timed_pcap("many.pcap", [(1000, p) for p in from_many(64)])
    def rules(n, *each):
        return written("busy.nft", "table ip t { set s { type ipv4_addr . mark; flags dynamic; }\n"
                       "chain c { type filter hook forward priority 0;\n" +
                       "".join(f"meta mark set {i}\n" + "".join(f"{e}\n" for e in each) for i in range(n)) + "}; }\n")
    add, count = "add @s { ip saddr . meta mark counter }", "ct count over 64 drop"
    got = report("-f", rules(10, add, count), "many.pcap")
    same((got["unready"], got["sets"][0]["unready"], got["sets"][0]["elements"]), (0, 0, 640))
    out, err = tamis("replay", "-f", "busy.nft", "many.pcap")
    holds("ready" not in out and not err, out + err)
    got = report("-f", rules(40, add, count), "many.pcap")
    same((got["sets"][0]["elements"], got["accepted"]), (2560, 64))
    holds(got["unready"] == 40 * 64 - 1024 and got["sets"][0]["unready"] > 0, str(got))
    out, err = tamis("replay", "-f", "busy.nft", "many.pcap")
    holds(re.search(r"found nothing ready \d+ times", out), out)
    same(err, "tamis: 1536 connections had to wait for memory in ct count\n")


@test
def captures_are_no_rulesets():
    same(tamis("check", "-f", CAPTURE, status=1)[1], f"{CAPTURE}: Error: a capture or a compressed file, not a ruleset\n")
    written("bell.nft", "table ip t {\n\x07\x1b[31mfoo\x7f\n")
    err = tamis("check", "-f", "bell.nft", status=1)[1]
    holds("\x1b" not in err and "\x07" not in err and "\x7f" not in err and "??[31mfoo?" in err, err)


@test
def json_errors_name_the_file():
    written("bad.json", '{"nftables": [{"foo": {}}]}')
    holds(tamis("check", "-f", "bad.json", status=1)[1].startswith("bad.json: Error: "))
    written("worse.json", '{"nftables": ')
    holds(tamis("check", "-f", "worse.json", status=1)[1].startswith("worse.json: Error: JSON: "))


@test
def options_that_mean_nothing_are_told():
    text = ""
    for args in (["check", "-f", RULES, "--skip-bad"], ["check", "-f", RULES, "-I", "no/dir"], [*REPLAY, "--trace=", CAPTURE],
                 ["help", "replay", "more"], ["check", "-f", RULES, "-D", "1a=2"], ["check", "-f", RULES, "-D", "a=}"],
                 [*REPLAY, "-q", "--trace=tcp dport 22 accept", CAPTURE], [*REPLAY, "-q", "--trace=ip saddr @nowhere", CAPTURE]):
        out, err = tamis(*args, status=1)
        same(out, "")
        text += f"$ tamis {' '.join(args)}\n{err}"
    golden("options.err", masked(text))
    same(tamis("help", "-h"), tamis("help"))
    same(tamis("-V"), tamis("--version"))
    written("sets", "create a hash:ip\nadd a 1.2.3.4\n")
    holds("1.2.3.4" in tamis("list", "--ipset", "sets")[0])
    same(tamis("check", "--ipset", "sets"), ("", ""))


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


@test
def at_the_end_of_time():
    """Elements without a lifetime are there at any time, and a clock beyond 2554 stands still."""
    written("sets.nft", """table ip t {
set s { type ipv4_addr; flags timeout; elements = { 10.0.0.1 }; }
set r { type ipv4_addr; flags interval, timeout; elements = { 10.0.0.0/8, 11.0.0.0/8 timeout 1s }; }
chain c { type filter hook forward priority 0; ip saddr @s ip saddr @r counter accept
}; }
delete element ip t r { 11.0.0.0/8 }
add element ip t s { 10.0.0.2 timeout 1s }
""")
    packet = bytes.fromhex("45000014000000004011") + bytes.fromhex("66d7") + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    data = block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)) + block(1, struct.pack("<HHI", 101, 0, 0))
    for time in (2**64 - 1, 0, 2**63, 2**64 - 1):
        data += block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xffffffff, len(packet), len(packet)) + packet)
    written("end.pcapng", data)
    got = report("-f", "sets.nft", "end.pcapng")
    same([(r["rule"][-14:], r["packets"]) for r in got["rules"]], [("counter accept", 4)])


@test
def files_are_apart():
    """What is written is nothing that is read, or written otherwise, by any of its names."""
    for name in ("in.pcap", "rules.nft", "list.txt", "there"):
        written(name, "")
    shutil.copy(CAPTURE, "in.pcap")
    shutil.copy(RULES, "rules.nft")
    for name in ("in.pcap", "rules.nft", "there"):
        os.symlink(name, "link-" + name)
    os.mkdir("sub")
    args = ["replay", "-q", "-f", "rules.nft", "--load", "inet filter blocklist=list.txt", "in.pcap"]
    for more, want in ((["--log", "in.pcap"], "--log and the capture"), (["-w", "link-in.pcap"], "-w and the capture"),
                       (["--dropped", "sub/../rules.nft"], "--dropped and -f"), (["--log", "link-rules.nft"], "--log and -f"),
                       (["--log", "list.txt"], "--log and --load"), (["-w", "there", "--log", "link-there"], "-w and --log"),
                       (["--dropped", "new", "--log", "./new"], "--dropped and --log"),
                       (["-w", "new", "--dropped", "sub/../new"], "-w and --dropped")):
        out, err = tamis(*args, *more, status=1)
        same((out, err.splitlines()[0]), ("", f"tamis: {want} name the same file"))
    tamis(*args, "-w", "new", "--dropped", "sub/new", "--log", "there")
    tamis(*args, "-w", "/dev/null", "--log", "/dev/null")
    with open("in.pcap", "rb") as mine, open(CAPTURE, "rb") as theirs:
        holds(mine.read() == theirs.read())


@test
def closed_streams():
    """No file gets the number of a stream that is closed, and with it what belongs there."""
    args = f"{TAMIS} {' '.join(REPLAY)} -w kept.pcap {CAPTURE}"
    for closed, want in (("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1), (">&- 2>&-", 1)):
        run = subprocess.run(["sh", "-c", f"exec {args} {closed}"], capture_output=True)
        same(run.returncode, want)
        if want:
            holds(not os.path.exists("kept.pcap"), closed)
        else:
            packets_of("kept.pcap")
            os.unlink("kept.pcap")
    same(subprocess.run(["sh", "-c", f"exec {args} -q -w - >&-"], capture_output=True).stderr,
         b"tamis: -: cannot be written: Bad file descriptor\n")
    same(subprocess.run(["sh", "-c", f"exec {TAMIS} list -f - <&-"], capture_output=True).stderr,
         b"tamis: standard input: Bad file descriptor\n")


@test
def prefixes_have_no_more_bits_than_addresses():
    for prefix in ("1.2.3.4/33", "::/129", "1.2.3.4/4294967296", "::/18446744073709551616", "1.2.3.4/", "1.2.3.4/-1", "1.2.3.4/8x"):
        same(tamis("replay", "-f", RULES, "--local", prefix, CAPTURE, status=1),
             ("", f"tamis: --local {prefix}: not an address or prefix\n"))


@test
def interrupt_leaves_nothing():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        run = subprocess.Popen([TAMIS, *REPLAY, "-w", "half.pcap", "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))
        with open(CAPTURE, "rb") as f:
            run.stdin.write(f.read()[:3000])
        run.stdin.flush()
        time.sleep(0.3)
        run.send_signal(number)
        time.sleep(0.1)
        out, err = run.communicate()
        same((run.returncode, out, err), (1, b"", b"tamis: interrupted\n"))
        holds(not [f for f in os.listdir(".") if "half" in f], str(os.listdir(".")))


@test
def warnings_name_what_is_not_evaluated():
    written("fib.nft", "table inet t { chain c { type filter hook forward priority 0;\n"
                       "fib saddr oif missing drop\nfib daddr type local drop\n}; }\n")
    out, err = tamis("replay", "-q", "-f", "fib.nft", CAPTURE)
    same(err, "Warning: 'fib' is not evaluated, a rule with it never matches\n"
         "Warning: 'fib type' is not evaluated without local prefixes, a rule with it never matches\n")
    out, err = tamis("replay", "-q", "-f", "fib.nft", *LOCAL, CAPTURE)
    holds(err.startswith("Warning: 'fib' ") and err.count("\n") == 1, err)
    got = report("-f", "fib.nft", "--path", "forward", *LOCAL, CAPTURE)
    holds([r["packets"] > 0 for r in got["rules"]] == [False, True])


@test
def readme_names_what_is_not_evaluated():
    """The names of the warnings are those of the table, row by row."""
    out, err = tamis("check", "-f", os.path.join(ROOT, "tests", "cli", "unevaluated.nft"))
    said = {"no value here": set(), "passed over": set()}
    for what, effect in re.findall(r"(?m)^Warning: '(xt \w+|[^']+)[^']*' (.*)$", err):
        said["no value here" if "never matches" in effect else "passed over"].add(what)
    with open(os.path.join(ROOT, "README.md")) as readme:
        for row in readme:
            if row.startswith(("| no value here", "| passed over")):
                same(sorted(re.findall(r"`([^`]+)`", row)), sorted(said[re.match(r"\| ([a-z ]+)", row)[1].strip()]))


if __name__ == "__main__":
    sys.exit(run_all())
