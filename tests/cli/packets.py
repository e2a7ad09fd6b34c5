# SPDX-License-Identifier: Apache-2.0
"""Captures of TCP packets, written here."""
import ipaddress
import struct


def packet(src, dport=80, dst="198.51.100.1"):
    """A TCP packet from src, raw IP; to dst in IPv4."""
    a = ipaddress.ip_address(src)
    tcp = struct.pack(">HHIIBBHHH", 1234, dport, 1, 0, 0x50, 2, 1024, 0, 0)
    if a.version == 6:
        return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + a.packed + bytes(15) + b"\1" + tcp
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, a.packed, ipaddress.ip_address(dst).packed)
    s = sum(struct.unpack(">10H", head))
    s = (s & 0xffff) + (s >> 16)
    s = ~(s + (s >> 16)) & 0xffff
    return head[:10] + struct.pack(">H", s) + head[12:] + tcp


def capture(name, packets):
    """packets: (seconds, source[, port[, destination]]); the first is when time begins."""
    with open(name, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
        for at, *what in packets:
            data = packet(*what)
            f.write(struct.pack("<IIII", 1000 + int(at), int(at % 1 * 1e6), len(data), len(data)) + data)
    return name
