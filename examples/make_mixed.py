#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes mixed.pcap: a few seconds in the life of a server, 192.0.2.1 and 2001:db8::1.

make_mixed.py OUT.pcap. The same bytes on every run.
"""
import ipaddress
import struct
import sys

SERVER, SERVER6 = "192.0.2.1", "2001:db8::1"
SERVER_MAC, ROUTER_MAC = bytes.fromhex("020000000001"), bytes.fromhex("0200000000fe")
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def packed(address):
    return ipaddress.ip_address(address).packed


def ip(src, dst, proto, payload, ident=0, frag=0, bad_checksum=False):
    """An IPv4 or IPv6 packet, by the addresses."""
    if ":" in src:
        return struct.pack("!IHBB", 6 << 28, len(payload), proto, 64) + packed(src) + packed(dst) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), ident, frag, 64, proto, 0)
    head += packed(src) + packed(dst)
    total = checksum(head) ^ (0x5555 if bad_checksum else 0)
    return head[:10] + struct.pack("!H", total) + head[12:] + payload


def summed(src, dst, proto, segment, at):
    """The segment with its checksum over the pseudo header put at offset `at`."""
    pseudo = packed(src) + packed(dst) + struct.pack("!II", len(segment), proto)
    return segment[:at] + struct.pack("!H", checksum(pseudo + segment)) + segment[at + 2:]


def tcp(src, sport, dst, dport, flags, seq=0, ack=0, data=b""):
    segment = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 5 << 4, flags, 64240, 0, 0) + data
    return ip(src, dst, 6, summed(src, dst, 6, segment, 16))


def udp(src, sport, dst, dport, data=b"", **more):
    segment = struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data
    return ip(src, dst, 17, summed(src, dst, 17, segment, 6), **more)


def icmp(src, dst, kind, code=0, rest=b"\0\0\0\0", data=b""):
    segment = struct.pack("!BBH", kind, code, 0) + rest + data
    if ":" in src:
        return ip(src, dst, 58, summed(src, dst, 58, segment, 2))
    return ip(src, dst, 1, segment[:2] + struct.pack("!H", checksum(segment)) + segment[4:])


class Capture:
    def __init__(self, start):
        self.records, self.now = [], start

    def add(self, packet, after=0.01, vlan=None):
        """An Ethernet frame `after` seconds after the one before it."""
        outward = packet[12:16] == packed(SERVER) or packet[8:24] == packed(SERVER6)
        macs = ROUTER_MAC + SERVER_MAC if outward else SERVER_MAC + ROUTER_MAC
        tag = struct.pack("!HH", 0x8100, vlan) if vlan else b""
        kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00"
        self.frame(macs + tag + kind + packet, after)

    def frame(self, frame, after=0.01, wire=None):
        self.now += round(after * 1000000)
        self.records.append(struct.pack("<IIII", *divmod(self.now, 1000000), len(frame),
                                        wire or len(frame)) + frame)

    def write(self, path):
        with open(path, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            out.writelines(self.records)


def session(c, client, server, port, sport, request, response):
    """A whole TCP connection."""
    def up(flags, seq, ack, data=b""):
        c.add(tcp(client, sport, server, port, flags, seq, ack, data))

    def down(flags, seq, ack, data=b""):
        c.add(tcp(server, port, client, sport, flags, seq, ack, data))

    up(SYN, 1000, 0)
    down(SYN | ACK, 5000, 1001)
    up(ACK, 1001, 5001)
    up(PSH | ACK, 1001, 5001, request)
    seq, acked = 5001, 1001 + len(request)
    for at in range(0, len(response), 1000):
        part = response[at:at + 1000]
        down(PSH | ACK, seq, acked, part)
        seq += len(part)
    up(FIN | ACK, acked, seq)
    down(FIN | ACK, seq, acked + 1)
    up(ACK, acked + 1, seq + 1)


def neighbours(c):
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + ROUTER_MAC + packed("192.0.2.254")
    c.frame(b"\xff" * 6 + ROUTER_MAC + b"\x08\x06" + arp + bytes(6) + packed(SERVER) + bytes(18))
    c.add(icmp("fe80::fe", SERVER6, 135, rest=bytes(4), data=packed(SERVER6)))
    c.add(icmp(SERVER6, "fe80::fe", 136, rest=b"\x60\0\0\0", data=packed(SERVER6)))
    c.add(udp("192.0.2.77", 68, "192.0.2.1", 67, b"\x01" * 240))
    c.add(udp("192.0.2.78", 137, "192.0.2.1", 137, b"\0" * 50))
    c.add(udp("192.0.2.79", 5000, SERVER, 53, b"\0" * 30), vlan=20)


def scan(c):
    for port in (21, 22, 23, 25, 80, 443, 3306, 3389, 5432, 8080):
        c.add(tcp("198.51.100.17", 40000 + port, SERVER, port, SYN), after=0.002)
    for port in (23, 445, 1433, 6379):
        c.add(tcp("203.0.113.99", 41000 + port, SERVER, port, SYN), after=0.002)
    c.add(tcp("203.0.113.70", 42000, SERVER, 443, SYN))
    c.add(tcp("203.0.113.99", 42113, SERVER, 113, SYN))
    c.add(tcp("203.0.113.99", 42114, SERVER, 80, FIN | PSH))
    c.add(tcp("2001:db8:bad::5", 42000, SERVER6, 443, SYN))
    c.add(udp("203.0.113.99", 53, SERVER, 53, b"\0" * 40))


def ssh_storm(c):
    """Twelve connections in six seconds, then silence, then one more."""
    for n in range(12):
        c.add(tcp("203.0.113.150", 50000 + n, SERVER, 22, SYN), after=0.5)
    c.add(tcp("203.0.113.150", 50100, SERVER, 22, SYN), after=30)


def pings(c):
    for n in range(4):
        echo = struct.pack("!HH", 7, n)
        c.add(icmp("203.0.113.8", SERVER, 8, rest=echo, data=b"p" * 32))
        c.add(icmp(SERVER, "203.0.113.8", 0, rest=echo, data=b"p" * 32))
    c.add(icmp("2001:db8:1::9", SERVER6, 128, rest=b"\0\7\0\0", data=b"p" * 32))
    c.add(icmp(SERVER6, "2001:db8:1::9", 129, rest=b"\0\7\0\0", data=b"p" * 32))
    c.add(icmp("203.0.113.8", SERVER, 13, data=bytes(12)))


def server_calls_out(c):
    query = udp(SERVER, 33000, "192.0.2.53", 53, b"\0" * 30)
    c.add(query)
    c.add(udp("192.0.2.53", 53, SERVER, 33000, b"\0" * 90))
    lost = udp(SERVER, 33001, "203.0.113.200", 123, b"\0" * 48)
    c.add(lost)
    c.add(icmp("203.0.113.200", SERVER, 3, 3, data=lost[:28]))
    c.add(tcp(SERVER, 34000, "198.51.100.17", 6667, SYN))


def nonsense(c):
    good = tcp("203.0.113.9", 1234, SERVER, 443, SYN)
    c.add(ip("203.0.113.9", SERVER, 6, good[20:], bad_checksum=True))
    c.add(ip("203.0.113.9", SERVER, 6, good[20:28]))
    c.add(good[:3] + b"\x08" + good[4:])
    c.add(udp("203.0.113.9", 9999, SERVER, 9999, b"x" * 32, ident=77, frag=0x2000))
    c.add(ip("203.0.113.9", SERVER, 17, b"y" * 40, ident=77, frag=5))


def main():
    c = Capture(1700000000 * 1000000)
    neighbours(c)
    session(c, "203.0.113.7", SERVER, 443, 51000, b"q" * 300, b"r" * 4200)
    session(c, "203.0.113.8", SERVER, 80, 51001, b"GET / HTTP/1.1\r\n\r\n", b"r" * 900)
    session(c, "2001:db8:1::9", SERVER6, 443, 51002, b"q" * 200, b"r" * 2500)
    scan(c)
    session(c, "203.0.113.20", SERVER, 22, 51003, b"SSH-2.0-x\r\n", b"SSH-2.0-y\r\n")
    pings(c)
    ssh_storm(c)
    server_calls_out(c)
    nonsense(c)
    c.write(sys.argv[1])


if __name__ == "__main__":
    main()
