#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpora of fuzz_packet and fuzz_capture: make_packet_seeds.py CORPUS_DIR.

A packet seed is a byte with the link type (the order of enum link_type) and a packet; a capture
seed is a small file. The output is the same every time.
"""
import gzip
import os
import struct
import sys

EN10MB, RAW, NULL, LOOP, SLL, SLL2 = range(6)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip4(proto, payload, frag=0, options=b""):
    head = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 20 + len(options) + len(payload),
                                 7, frag, 64, proto, 0, bytes([192, 0, 2, 1]), bytes([198, 51, 100, 2])) + options)
    struct.pack_into(">H", head, 10, checksum(bytes(head)))
    return bytes(head) + payload


def ip6(proto, payload):
    address = bytes.fromhex("20010db8") + bytes(11)
    return struct.pack(">IHBB", 6 << 28, len(payload), proto, 64) + address + b"\1" + address + b"\2" + payload


def ether(kind, payload, tags=()):
    head = bytes.fromhex("020000000001020000000002")
    for tag_kind, tci in tags:
        head += struct.pack(">HH", tag_kind, tci)
    return head + struct.pack(">H", kind) + payload


def tcp(options=b"", payload=b""):
    return struct.pack(">HHIIBBHHH", 1234, 80, 1, 2, (5 + len(options) // 4) << 4, 0x12, 512, 0, 0) + options + payload


def udp(payload=b"data", length=None):
    return struct.pack(">HHHH", 5353, 53, 8 + len(payload) if length is None else length, 0) + payload


def ext(following, kind, size=8):
    return bytes([following, size // 8 - 1, kind]) + bytes(size - 3)


def fragment(following, field):
    return struct.pack(">BBHI", following, 0, field, 99)


TCP_OPTIONS = bytes.fromhex("020405b40101080a0102030405060708") + bytes.fromhex("0103030704020100")
SCTP = struct.pack(">HHII", 1234, 80, 1, 0) + bytes.fromhex("01000014") + bytes(16) + bytes.fromhex("0003000541000000")
DCCP = struct.pack(">HHBBHBBH", 1234, 80, 6, 0, 0, 4, 0, 0) + bytes(4) + bytes.fromhex("2203050120040102")[:8]
ARP = bytes.fromhex("0001080006040001") + bytes(20)

PACKETS = {
    "arp": (EN10MB, ether(0x0806, ARP)),
    "arp-vlan": (EN10MB, ether(0x0806, ARP, [(0x8100, 5)])),
    "qinq": (EN10MB, ether(0x0800, ip4(17, udp()), [(0x88A8, 100), (0x8100, 7)])),
    "qinq-old": (EN10MB, ether(0x86DD, ip6(17, udp()), [(0x9100, 100), (0x8100, 7), (0x8100, 8)])),
    "llc": (EN10MB, ether(38, bytes.fromhex("424203") + bytes(35))),
    "tcp4": (EN10MB, ether(0x0800, ip4(6, tcp(TCP_OPTIONS, b"GET /")))),
    "tcp6": (EN10MB, ether(0x86DD, ip6(6, tcp(TCP_OPTIONS)))),
    "tcp4-options": (RAW, ip4(6, tcp(), options=bytes.fromhex("9404000083070401020304000707040000000000"))),
    "udp4": (RAW, ip4(17, udp())),
    "udp-bad-length": (RAW, ip4(17, udp(length=99))),
    "udplite": (RAW, ip4(136, udp(length=8))),
    "sctp4": (RAW, ip4(132, SCTP)),
    "sctp6": (RAW, ip6(132, SCTP)),
    "dccp": (RAW, ip4(33, DCCP)),
    "icmp": (RAW, ip4(1, bytes.fromhex("0800000000010001"))),
    "icmp-error": (RAW, ip4(1, bytes.fromhex("0303000000000000") + ip4(17, udp()))),
    "icmpv6": (SLL, struct.pack(">HHH8sH", 0, 1, 6, bytes(8), 0x86DD) + ip6(58, bytes.fromhex("8700000000000000") + bytes(24))),
    "igmp": (RAW, ip4(2, bytes.fromhex("16000000e0000001"), options=bytes.fromhex("94040000"))),
    "esp": (RAW, ip4(50, bytes(16))),
    "ah4": (RAW, ip4(51, bytes([6, 4]) + bytes(22) + tcp())),
    "comp": (RAW, ip4(108, bytes([6, 0, 0, 1]))),
    "gre": (RAW, ip4(47, bytes.fromhex("b000080000000000000000010000000a") + ip4(17, udp()))),
    "ipip": (RAW, ip4(4, ip4(17, udp()))),
    "first-fragment": (RAW, ip4(17, udp(bytes(16), 999), frag=0x2000)),
    "later-fragment": (RAW, ip4(17, bytes(24), frag=0x0003)),
    "overlong-fragment": (RAW, ip4(17, bytes(24), frag=0x1FFF)),
    "chain6": (RAW, ip6(0, ext(43, 1) + ext(60, 0, 24) + ext(44, 1) + fragment(6, 0) + tcp())),
    "fragment6": (RAW, ip6(44, fragment(17, 1) + udp(bytes(8), 99))),
    "later-fragment6": (RAW, ip6(44, fragment(17, 0x0100) + bytes(8))),
    "ah6": (RAW, ip6(51, bytes([6, 4]) + bytes(22) + tcp())),
    "mobility": (RAW, ip6(135, ext(59, 5, 16))),
    "none6": (RAW, ip6(59, b"")),
    "null": (NULL, struct.pack("<I", 2) + ip4(17, udp())),
    "loop": (LOOP, struct.pack(">I", 24) + ip6(17, udp())),
    "sll": (SLL, struct.pack(">HHH8sH", 4, 1, 6, bytes(8), 0x0800) + ip4(17, udp())),
    "sll2": (SLL2, struct.pack(">HHIHBB8s", 0x0800, 0, 2, 1, 0, 6, bytes(8)) + ip4(6, tcp())),
}


def pcap(order, magic, network, packets):
    out = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, network)
    for number, packet in enumerate(packets):
        out += struct.pack(order + "IIII", number, 5, len(packet), len(packet)) + packet
    return out


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order):
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order, network, name, resolution):
    return block(order, 1, struct.pack(order + "HHI", network, 0, 0) + option(order, 2, name)
                 + option(order, 9, bytes([resolution])) + option(order, 14, struct.pack(order + "q", 5))
                 + option(order, 0, b""))


def enhanced(order, number, packet):
    return block(order, 6, struct.pack(order + "IIIII", number, 0, 77, len(packet), len(packet)) + packet)


def captures():
    wire = [ether(0x0800, ip4(6, tcp())), ether(0x0806, ARP)]
    raw = ip4(17, udp())
    ng = b""
    for order in "<>":
        ng += section(order) + interface(order, 1, b"eth0", 6) + interface(order, 101, b"tun0", 0x8A)
        ng += enhanced(order, 0, wire[0]) + block(order, 5, bytes(12)) + enhanced(order, 1, raw)
        ng += block(order, 3, struct.pack(order + "I", len(wire[1])) + wire[1])
        ng += block(order, 2, struct.pack(order + "HHIIII", 1, 0, 0, 9, len(raw), len(raw)) + raw)
    little = pcap("<", 0xA1B2C3D4, 1, wire)
    return {
        "micro-little": little,
        "micro-big": pcap(">", 0xA1B2C3D4, 113, [b"x" * 20]),
        "nano": pcap("<", 0xA1B23C4D, 101, [raw]),
        "extended": pcap("<", 0xA1B2CD34, 1, [bytes(8) + wire[0]]),
        "wlan": pcap("<", 0xA1B2C3D4, 105, [b"x"]),
        "pcapng": ng,
        "gzip": gzip.compress(little, mtime=0),
        "gzip-pcapng": gzip.compress(ng, mtime=0),
    }


def main():
    seeds = {("packet", name): bytes([link]) + data for name, (link, data) in PACKETS.items()}
    seeds.update({("capture", name): data for name, data in captures().items()})
    for (target, name), data in seeds.items():
        directory = os.path.join(sys.argv[1], target)
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
