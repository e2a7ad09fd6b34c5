#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernel as oracle: the same ruleset and packets through nft and through tamis, counters equal.

oracle.py TAMIS CASES_DIR [CASE...]. Runs each case in a network namespace of its own, which ends with the
next or with the process. In it two veth pairs: frames written to `far0` arrive at `in0`, those written to `far1` at `in1`.
What the router itself would answer is dropped before conntrack, and what it forwards is dropped at the far
end, so that both sides see the same packets.

A case is NAME.nft; comment lines at its top say `# path: input|forward|ingress|bridge|output`, `# packets:
STREAM...`, `# local: ADDRESS...` (for tamis). For `bridge` in0 and in1 are ports of a bridge; for `output` the packets are the router's own.
Rules with a `counter` are compared: it stands behind all matches and before the verdict. Prints TAP.

No case has what nft 1.0.6 cannot write (last, DCCP options, operations of two fields, inner headers, broute,
`socket wildcard`), nor queue, which kernels without nfnetlink_queue refuse; what is not evaluated is in README.md.
"""
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import packets

CLONE_NEWNET = 0x40000000
QUIET = """
table inet oracle_quiet {
	chain out {
		type filter hook output priority -500; policy drop;
	}
}
"""
# The kernel's own, on the way on which all else is the case's.
QUIET_OWN = """
table inet oracle_quiet {
	chain out {
		type filter hook output priority -500; policy accept;
		meta l4proto ipv6-icmp drop
	}
}
"""
SEEN = """
table netdev oracle_seen {
	chain in0 {
		type filter hook ingress device in0 priority -500; policy accept;
		counter
	}
	chain in1 {
		type filter hook ingress device in1 priority -500; policy accept;
		counter
	}
	chain far0 {
		type filter hook ingress device far0 priority -500; policy drop;
	}
	chain far1 {
		type filter hook ingress device far1 priority -500; policy drop;
	}
}
"""


def run(*args, **more):
    return subprocess.run(args, check=True, capture_output=True, text=True, **more).stdout


def sysctl(name, value):
    path = "/proc/sys/" + name
    if os.path.exists(path):
        with open(path, "w") as out:
            out.write(str(value))


def make_host():
    """A new namespace with the router's links; conntrack knows nothing there."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError("cannot make a network namespace here")
    sysctl("net/ipv4/ip_forward", 1)
    for conf in ("all", "default"):
        sysctl(f"net/ipv4/conf/{conf}/rp_filter", 0)
        sysctl(f"net/ipv6/conf/{conf}/accept_dad", 0)
        sysctl(f"net/ipv6/conf/{conf}/accept_ra", 0)
        sysctl(f"net/ipv6/conf/{conf}/forwarding", 1)
    run("ip", "link", "set", "lo", "up")
    for n in range(2):
        run("ip", "link", "add", f"far{n}", "type", "veth", "peer", "name", f"in{n}")
        sysctl(f"net/ipv6/conf/far{n}/disable_ipv6", 1)
        run("ip", "link", "set", f"far{n}", "arp", "off", "address", packets.HOST_MAC[n].hex(":"))
        run("ip", "link", "set", f"in{n}", "address", packets.ROUTER_MAC[n].hex(":"))
        sysctl(f"net/ipv4/conf/in{n}/rp_filter", 0)
        run("ip", "link", "set", f"far{n}", "up")
        run("ip", "link", "set", f"in{n}", "up")
    for n, (v4, v6) in enumerate((("192.0.2.1/24", "2001:db8::1/64"), ("198.18.0.1/24", "2001:db8:1::1/64"))):
        run("ip", "addr", "add", v4, "dev", f"in{n}")
        run("ip", "-6", "addr", "add", v6, "dev", f"in{n}", "nodad")
        for hop in (v4.rsplit(".", 1)[0] + ".9", v6.split("::")[0] + "::9"):
            run("ip", "neigh", "replace", hop, "lladdr", packets.HOST_MAC[n].hex(":"), "dev", f"in{n}", "nud", "permanent")
    # Answers and forwarded packets have somewhere to go, whoever sent them.
    run("ip", "route", "add", "default", "via", "192.0.2.9", "dev", "in0")
    run("ip", "-6", "route", "add", "default", "via", "2001:db8::9", "dev", "in0")


def make_bridge():
    run("ip", "link", "add", "bridge", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
    sysctl("net/ipv6/conf/bridge/disable_ipv6", 1)
    for n in range(2):
        run("ip", "link", "set", f"in{n}", "master", "bridge")
    run("ip", "link", "set", "bridge", "up")


def seen():
    listing = json.loads(run("nft", "-j", "list", "table", "netdev", "oracle_seen"))
    return sum(e["counter"]["packets"] for o in listing["nftables"] if "rule" in o
               for e in o["rule"]["expr"] if "counter" in e)


def send(frames):
    links = []
    for n in range(2):
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        link.bind((f"far{n}", 0))
        links.append(link)
    for iface, frame in frames:
        links[iface].send(frame)
    for link in links:
        link.close()
    # All have arrived when the ingress counters say so; the rest of a packet's way is in the same softirq.
    deadline = time.monotonic() + 10
    while seen() < len(frames):
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {seen()} of {len(frames)} packets arrived")
        time.sleep(0.01)
    time.sleep(0.05)


def send_own(frames):
    """Sends what is behind the Ethernet headers as the host's own packets; their way ends before sendto() does."""
    links = {4: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
             6: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)}
    for _, frame in frames:
        packet = frame[14:]
        to = socket.inet_ntoa(packet[16:20]) if packet[0] >> 4 == 4 else socket.inet_ntop(socket.AF_INET6, packet[24:40])
        try:
            links[packet[0] >> 4].sendto(packet, (to, 0))
        except PermissionError:
            pass  # a rule dropped it
    for link in links.values():
        link.close()


def kernel_counters(path, frames, mode):
    make_host()
    run("nft", "-f", "-", input=(QUIET_OWN if mode == "output" else QUIET) + SEEN)
    if mode == "bridge":
        make_bridge()
    run("nft", "-f", path)
    if mode == "output":
        send_own(frames)
    else:
        send(frames)
    listing = json.loads(run("nft", "-j", "-a", "list", "ruleset"))
    rules, sets = [], {}
    for item in listing["nftables"]:
        rule = item.get("rule")
        if rule and not rule["table"].startswith("oracle_"):
            counters = [e["counter"] for e in rule["expr"]
                        if isinstance(e, dict) and isinstance(e.get("counter"), dict) and "packets" in e["counter"]]
            counts = (counters[0]["packets"], counters[0]["bytes"]) if counters else (None, None)
            rules.append((rule["family"], rule["table"], rule["chain"], *counts))
        for kind in ("set", "map"):
            if kind in item and not item[kind]["table"].startswith("oracle_"):
                s = item[kind]
                sets[s["family"], s["table"], s["name"]] = len(s.get("elem", []))
    return rules, sets


def tamis_counters(tamis, path, capture, mode, local):
    args = [tamis, "replay", "-f", path, "--json", "--path", mode]
    for address in local:
        args += ["--local", address]
    if mode in ("forward", "bridge"):
        args += ["--oif", "in1"]
    if mode == "output":
        args += ["--oif", "in0"]
    report = json.loads(run(*args, capture))
    rules = [(r["family"], r["table"], r["chain"], r["packets"], r["bytes"]) for r in report["rules"]]
    texts = [r["rule"] for r in report["rules"]]
    sets = {(s["family"], s["table"], s["name"]): s["elements"] for s in report["sets"]}
    return rules, texts, sets


def by_chain(rules, texts=None):
    chains = {}
    for n, rule in enumerate(rules):
        chains.setdefault(rule[:3], []).append(rule[3:] + ((texts[n],) if texts else ()))
    return chains


def compare(tamis, path, work):
    head = {}
    with open(path) as text:
        for line in text:
            if not line.startswith("# ") or ":" not in line:
                break
            key, value = line[2:].split(":", 1)
            head[key] = value.strip()
    mode = head["path"]
    frames = [f for name in head["packets"].split() for f in packets.STREAMS[name]()]
    capture = os.path.join(work, "packets.pcapng")
    packets.write_pcapng(capture, frames, ("in0", "in1"))
    theirs, their_sets = kernel_counters(path, frames, mode)
    ours, texts, our_sets = tamis_counters(tamis, path, capture, "input" if mode == "ingress" else mode,
                                         head.get("local", "").split())
    wrong = []
    their_chains, our_chains = by_chain(theirs), by_chain(ours, texts)
    if their_chains.keys() != our_chains.keys():
        wrong.append(f"chains differ: {sorted(their_chains)} {sorted(our_chains)}")
    for chain in their_chains.keys() & our_chains.keys():
        if len(their_chains[chain]) != len(our_chains[chain]):
            wrong.append(f"{chain}: kernel has {len(their_chains[chain])} rules, tamis {len(our_chains[chain])}")
        for kernel, mine in zip(their_chains[chain], our_chains[chain]):
            if kernel[0] is not None and kernel != mine[:2]:
                wrong.append(f"{' '.join(chain)}: {mine[2]}: kernel {kernel}, tamis {mine[:2]}")
    for name, count in their_sets.items():
        if our_sets.get(name) != count:
            wrong.append(f"set {' '.join(name)}: kernel has {count} elements, tamis {our_sets.get(name)}")
    if not any(rule[3] for rule in theirs):
        wrong.append("no rule of this case matched anything")
    return wrong, len(theirs), len(frames)


def skip(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def main():
    tamis, folder, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    if os.geteuid() != 0:
        skip("needs root to make a network namespace")
    for tool in ("nft", "ip"):
        if not shutil.which(tool):
            skip(f"needs the command {tool}")
    try:
        make_host()
        run("nft", "-f", "-", input=QUIET + SEEN)
    except OSError as error:
        skip(str(error))
    except subprocess.CalledProcessError as error:
        skip(f"this kernel has no veth or nftables: {error.stderr.strip()}")
    cases = sorted(f for f in os.listdir(folder) if f.endswith(".nft") and (not only or f[:-4] in only))
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory() as work:
        for n, name in enumerate(cases, 1):
            try:
                wrong, rules, count = compare(tamis, os.path.join(folder, name), work)
            except (subprocess.CalledProcessError, RuntimeError, KeyError, ValueError) as error:
                wrong, rules, count = [f"{error} {getattr(error, 'stderr', '')}"], 0, 0
            print(f"{'not ok' if wrong else 'ok'} {n} - {name[:-4]}: {rules} rules, {count} packets")
            for line in wrong:
                print("# " + line.replace("\n", " "))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
