# SPDX-License-Identifier: Apache-2.0
"""Packets for the oracle tests, built byte by byte, the same on every run.

Each stream is a function that yields (interface, frame): interface 0 arrives at the router's first
link, 1 at its second. The router owns 192.0.2.1, 198.18.0.1, 2001:db8::1 and 2001:db8:1::1; everything
behind the second link is 198.18.0.0/24 and 2001:db8:1::/64.
"""
import random
import socket
import struct

ROUTER_MAC = bytes.fromhex("020000000002"), bytes.fromhex("020000000003")
HOST_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000004")


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ether(payload, proto, iface=0, dst=None, vlan=()):
    tags = b"".join(struct.pack("!HH", tpid, tci) for tpid, tci in vlan)
    return (dst or ROUTER_MAC[iface]) + HOST_MAC[iface] + tags + struct.pack("!H", proto) + payload


def ip4(src, dst, proto, payload, ttl=64, tos=0, ident=1, frag=0, options=b""):
    options += b"\0" * (-len(options) % 4)
    head = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, tos, 20 + len(options) + len(payload),
                       ident, frag, ttl, proto, 0, socket.inet_aton(src), socket.inet_aton(dst)) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def ip6(src, dst, proto, payload, hop=64, tclass=0, flow=0):
    return struct.pack("!IHBB", 6 << 28 | tclass << 20 | flow, len(payload), proto, hop) + \
        socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst) + payload


def pseudo(src, dst, proto, payload):
    if ":" in src:
        return socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst) + \
            struct.pack("!II", len(payload), proto) + payload
    return socket.inet_aton(src) + socket.inet_aton(dst) + struct.pack("!BBH", 0, proto, len(payload)) + payload


def summed(src, dst, proto, payload, at):
    value = checksum(pseudo(src, dst, proto, payload))
    return payload[:at] + struct.pack("!H", value or 0xFFFF) + payload[at + 2:]


def tcp(src, dst, sport, dport, flags="S", seq=1000, ack=0, options=b"", data=b"", window=8192):
    options += b"\0" * (-len(options) % 4)
    bits = sum(1 << "FSRPAUEC".index(f) for f in flags)
    head = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, (5 + len(options) // 4) << 4, bits, window, 0, 0)
    return summed(src, dst, 6, head + options + data, 16)


def udp(src, dst, sport, dport, data=b"x" * 20, proto=17):
    length = 8 + len(data)
    return summed(src, dst, proto, struct.pack("!HHHH", sport, dport, length, 0) + data, 6)


def icmp(kind, code=0, rest=b"\0\1\0\1", data=b"ping" * 8):
    body = struct.pack("!BBH", kind, code, 0) + rest + data
    return body[:2] + struct.pack("!H", checksum(body)) + body[4:]


def icmp6(src, dst, kind, code=0, rest=b"\0\1\0\1", data=b"ping" * 8):
    return summed(src, dst, 58, struct.pack("!BBH", kind, code, 0) + rest + data, 2)


def send4(src, dst, proto, payload, iface=0, **more):
    return iface, ether(ip4(src, dst, proto, payload, **more), 0x0800, iface)


def send6(src, dst, proto, payload, iface=0, **more):
    return iface, ether(ip6(src, dst, proto, payload, **more), 0x86DD, iface)


def tcp4(src, dst, sport, dport, flags="S", iface=0, ip=None, **more):
    return send4(src, dst, 6, tcp(src, dst, sport, dport, flags, **more), iface, **(ip or {}))


def tcp6(src, dst, sport, dport, flags="S", iface=0, ip=None, **more):
    return send6(src, dst, 6, tcp(src, dst, sport, dport, flags, **more), iface, **(ip or {}))


def udp4(src, dst, sport, dport, iface=0, data=b"x" * 20, ip=None):
    return send4(src, dst, 17, udp(src, dst, sport, dport, data), iface, **(ip or {}))


def udp6(src, dst, sport, dport, iface=0, data=b"x" * 20, ip=None):
    return send6(src, dst, 17, udp(src, dst, sport, dport, data), iface, **(ip or {}))


PORTS = [22, 25, 53, 80, 123, 137, 443, 993, 1023, 1024, 3306, 5353, 8000, 8080, 8443, 33434, 65535]


def mix4(dst="192.0.2.1", seed=4):
    """IPv4 of many protocols, ports, sizes, TOS and TTL values to one destination."""
    r = random.Random(seed)
    for n in range(400):
        src = r.choice(["192.0.2.%d" % r.randrange(2, 255), "203.0.113.%d" % r.randrange(1, 255),
                        "10.%d.%d.%d" % (r.randrange(4), r.randrange(256), r.randrange(1, 255))])
        ip = {"ttl": r.choice([2, 5, 64, 128, 255]), "tos": r.choice([0, 0, 8, 0x10, 0x28, 0xB8, 3, 1]),
              "ident": n + 1}
        kind = r.randrange(10)
        if kind < 4:
            flags = r.choice(["S", "SA", "A", "PA", "F", "FA", "R", "RA", "FPU", "", "SF", "SEC", "AE", "FSRPAU"])
            options = r.choice([b"", b"\2\4\5\xb4", b"\2\4\2\x18\4\2\1\3\3\7", b"\1\1\x08\x0a" + b"\0" * 8])
            yield tcp4(src, dst, r.choice(PORTS), r.choice(PORTS), flags, ip=ip, seq=n, options=options,
                       data=b"d" * r.choice([0, 0, 10, 500]), window=r.choice([0, 1024, 65535]))
        elif kind < 7:
            yield udp4(src, dst, r.choice(PORTS), r.choice(PORTS), data=b"u" * r.choice([0, 1, 40, 1200]), ip=ip)
        elif kind == 7:
            yield send4(src, dst, 1, icmp(r.choice([0, 8, 13, 17, 30]), 0, struct.pack("!HH", n, r.randrange(9))), **ip)
        elif kind == 8:
            yield send4(src, dst, r.choice([47, 50, 51, 108, 89, 112, 2]), bytes(r.randrange(256) for _ in range(40)), **ip)
        else:
            proto = r.choice([136, 132, 33])
            body = udp(src, dst, r.choice(PORTS), r.choice(PORTS), b"l" * 30, 136) if proto == 136 else \
                struct.pack("!HHII", r.choice(PORTS), r.choice(PORTS), n, 0) + b"\0\3\0\x10" + b"\0" * 12 \
                if proto == 132 else struct.pack("!HHBBHBB", r.choice(PORTS), r.choice(PORTS), 4, 0, 0,
                                                 r.randrange(8) << 1 | 1, 0) + b"\0" * 20
            yield send4(src, dst, proto, body, **ip)


def mix6(dst="2001:db8::1", seed=6):
    """The same for IPv6."""
    r = random.Random(seed)
    for n in range(400):
        src = r.choice(["2001:db8::%x" % r.randrange(2, 65535), "2001:db8:2::%x" % r.randrange(1, 65535),
                        "fd00:%x::7" % r.randrange(4)])
        ip = {"hop": r.choice([2, 5, 64, 255]), "tclass": r.choice([0, 0, 0xB8, 0x28, 3]),
              "flow": r.choice([0, 0, 1, 0xABCDE])}
        kind = r.randrange(9)
        if kind < 4:
            flags = r.choice(["S", "SA", "A", "PA", "FA", "R", "FPU", "", "SF", "SEC"])
            yield tcp6(src, dst, r.choice(PORTS), r.choice(PORTS), flags, ip=ip, seq=n,
                       data=b"d" * r.choice([0, 10, 500]))
        elif kind < 7:
            yield udp6(src, dst, r.choice(PORTS), r.choice(PORTS), data=b"u" * r.choice([1, 40, 1200]), ip=ip)
        elif kind == 7:
            yield send6(src, dst, 58, icmp6(src, dst, r.choice([128, 129, 1, 3, 139]), 0), **ip)
        else:
            yield send6(src, dst, r.choice([47, 50, 89, 112]), bytes(r.randrange(256) for _ in range(40)), **ip)


def forward4():
    yield from mix4("198.18.0.9", 14)


def forward6():
    yield from mix6("2001:db8:1::9", 16)


def conversations():
    """TCP, UDP and ICMP both ways through the router: whole, refused, half open, in mid-stream."""
    a, b = "192.0.2.9", "198.18.0.9"
    for n, dport in enumerate([22, 80, 443, 8080]):
        sport = 40000 + n
        yield tcp4(a, b, sport, dport, "S", seq=100)
        yield tcp4(b, a, dport, sport, "SA", 1, seq=500, ack=101)
        yield tcp4(a, b, sport, dport, "A", seq=101, ack=501)
        yield tcp4(a, b, sport, dport, "PA", seq=101, ack=501, data=b"q" * 100)
        yield tcp4(b, a, dport, sport, "PA", 1, seq=501, ack=201, data=b"r" * 900)
        yield tcp4(a, b, sport, dport, "A", seq=201, ack=1401)
        yield tcp4(a, b, sport, dport, "FA", seq=201, ack=1401)
        yield tcp4(b, a, dport, sport, "FA", 1, seq=1401, ack=202)
        yield tcp4(a, b, sport, dport, "A", seq=202, ack=1402)
    yield tcp4(a, b, 41000, 81, "S", seq=1)
    yield tcp4(b, a, 81, 41000, "RA", 1, seq=0, ack=2)
    yield tcp4(a, b, 41001, 82, "A", seq=77, ack=88, data=b"mid")
    yield tcp4(b, a, 82, 41001, "A", 1, seq=88, ack=80)
    yield tcp4(b, a, 83, 41002, "SA", 1, seq=5, ack=6)
    yield tcp4(a, b, 41003, 84, "R", seq=9)
    yield tcp4(a, b, 41004, 85, "SF", seq=9)
    yield udp4(a, b, 5000, 53)
    yield udp4(b, a, 53, 5000, 1)
    yield udp4(a, b, 5000, 53)
    yield udp4(a, b, 5001, 123)
    yield udp4(b, a, 9999, 9998, 1)
    echo = struct.pack("!HH", 77, 1)
    yield send4(a, b, 1, icmp(8, 0, echo))
    yield send4(b, a, 1, icmp(0, 0, echo), 1)
    yield send4(b, a, 1, icmp(0, 0, struct.pack("!HH", 78, 1)), 1)
    asked = ip4(a, b, 17, udp(a, b, 5001, 123))
    yield send4(b, a, 1, icmp(3, 3, b"\0" * 4, asked[:28]), 1)
    never = ip4(a, b, 17, udp(a, b, 6001, 124))
    yield send4(b, a, 1, icmp(3, 3, b"\0" * 4, never[:28]), 1)
    c, d = "2001:db8::9", "2001:db8:1::9"
    yield tcp6(c, d, 42000, 443, "S", seq=100)
    yield tcp6(d, c, 443, 42000, "SA", 1, seq=500, ack=101)
    yield tcp6(c, d, 42000, 443, "A", seq=101, ack=501)
    yield udp6(c, d, 7000, 53)
    yield udp6(d, c, 53, 7000, 1)
    yield send6(c, d, 58, icmp6(c, d, 128, 0, echo))
    yield send6(d, c, 58, icmp6(d, c, 129, 0, echo), 1)
    asked = ip6(c, d, 17, udp(c, d, 7000, 53))
    yield send6(d, c, 58, icmp6(d, c, 1, 4, b"\0" * 4, asked[:56]), 1)


def vlans():
    """802.1Q and priority tags beside untagged frames."""
    for n in range(40):
        body = ip4("192.0.2.9", "192.0.2.1", 17, udp("192.0.2.9", "192.0.2.1", 1000 + n, 53))
        tags = [(), ((0x8100, 10),), ((0x8100, 20 | 5 << 13),), ((0x88A8, 100),), ((0x8100, 0),)][n % 5]
        yield 0, ether(body, 0x0800, vlan=tags)
    for n in range(10):
        body = ip6("2001:db8::9", "2001:db8::1", 17, udp("2001:db8::9", "2001:db8::1", 1000 + n, 53))
        yield 0, ether(body, 0x86DD, vlan=((0x8100, 10 + n % 2 * 10),))


def arps():
    """ARP requests and replies, asked and unasked."""
    for n in range(30):
        op = 1 + n % 2
        target = "192.0.2.1" if n % 3 else "192.0.2.77"
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, op) + HOST_MAC[0] + \
            socket.inet_aton("192.0.2.%d" % (10 + n)) + (b"\0" * 6 if op == 1 else ROUTER_MAC[0]) + \
            socket.inet_aton(target)
        yield 0, ether(body, 0x0806, dst=b"\xff" * 6 if op == 1 else None)


def extension_headers():
    """IPv6 with hop-by-hop, routing, destination, fragment headers; IPv4 with options."""
    c, d = "2001:db8::9", "2001:db8::1"
    payload = udp(c, d, 1234, 53)
    pad = b"\1\4\0\0\0\0"
    hbh, dst = bytes([17, 0]) + pad, bytes([17, 0]) + pad
    for n in range(4):
        yield send6(c, d, 17, payload)
        yield send6(c, d, 0, hbh + payload)
        yield send6(c, d, 60, dst + payload)
        yield send6(c, d, 0, bytes([60, 0]) + pad + dst + payload)
        yield send6(c, d, 44, struct.pack("!BBHI", 17, 0, 0, 7 + n) + payload)
    a, b = "192.0.2.9", "192.0.2.1"
    for option in [b"\x94\4\0\0", b"\x07\x0b\x04" + b"\0" * 8, b"\1\1\1\0"]:
        yield send4(a, b, 17, udp(a, b, 1234, 53), options=option)
    yield send4(a, b, 17, udp(a, b, 1234, 53), frag=0x4000)


def ip_options():
    """IPv4 with router alert, record route, loose and strict source routes, padding and nothing."""
    a, b = "192.0.2.9", "192.0.2.1"
    hop = socket.inet_aton("198.18.0.9")
    alert, alert5 = b"\x94\4\0\0", b"\x94\4\0\5"
    record, recorded = b"\7\x0b\4" + b"\0" * 8, b"\7\x0b\x08" + hop + b"\0" * 4
    loose, strict = b"\x83\7\4" + hop, b"\x89\7\4" + hop
    for n, options in enumerate([b"", alert, alert5, record, recorded, loose, strict, alert + record,
                                 b"\1\1\1\0", b"\1" + loose, record + b"\0", b"\x94\4\0\0" * 3]):
        for dport in (53, 54 + n % 2):
            yield send4(a, b, 17, udp(a, b, 1234, dport), options=options)


def tcp_options():
    """Segments with every option that nft names, alone and together."""
    a, b = "192.0.2.9", "192.0.2.1"
    c, d = "2001:db8::9", "2001:db8::1"
    mss = [b"\2\4" + struct.pack("!H", v) for v in (1460, 1400, 536, 900, 65535)]
    scale = [b"\3\3" + bytes([v]) for v in (2, 7, 9)]
    permitted, stamp = b"\4\2", b"\x08\x0a" + struct.pack("!II", 77, 50)
    sack = [b"\5" + bytes([2 + 8 * k]) + b"".join(struct.pack("!II", 1000 + 2000 * i, 2000 + 2000 * i) for i in range(k))
            for k in (1, 2, 3)]
    fast = b"\x22\6\xab\xcd\1\2"
    md5 = b"\x13\x12" + bytes(16)
    multi = b"\x1e\x0c\0\x81" + bytes(8)
    odd = b"\xfe\4\1\2"
    for n, options in enumerate([*mss, *scale, permitted, stamp, *sack, fast, md5, multi, odd, b"",
                                 mss[0] + permitted + stamp + b"\1" + scale[1], b"\1\1" + sack[1], b"\0" * 4,
                                 b"\1\0\1\1", mss[2] + b"\1" + scale[0] + b"\1\1" + stamp]):
        for flags in ("S", "A"):
            yield tcp4(a, b, 2000 + n, 80, flags, options=options)
        yield tcp6(c, d, 2000 + n, 80, "S", options=options)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def sctp(sport, dport, vtag, chunks):
    body = b""
    for kind, flags, value in chunks:
        body += struct.pack("!BBH", kind, flags, 4 + len(value)) + value + b"\0" * (-len(value) % 4)
    head = struct.pack("!HHI", sport, dport, vtag)
    return head + crc32c(head + b"\0" * 4 + body) + body


def sctp_dccp():
    """SCTP with one chunk, several, odd lengths; DCCP of every type."""
    a, b = "192.0.2.9", "192.0.2.1"
    data = [(0, 3, struct.pack("!IHHI", tsn, 2 if tsn == 4 else 1, 0, 60 if tsn % 2 else 3) + b"hello"[:tsn]) for tsn in range(1, 6)]
    init = (1, 0, struct.pack("!IIHHI", 7, 65535, 10, 5, 1))
    init_ack = (2, 0, struct.pack("!IIHHI", 8, 65535, 11, 5, 1))
    ack = (3, 0, struct.pack("!IIHH", 5, 65535, 0, 0))
    packets = [[init], [init_ack], [ack], [ack, data[0]], data[:2], data[1:4], [(4, 0, b"\0\1\0\4")], [(6, 0, b"")],
               [(7, 0, b"\0\0\0\1")], [(10, 0, b"cook")], [(10, 0, b"coo"), data[4]], [(14, 0, b"")]]
    for n, chunks in enumerate(packets):
        yield send4(a, b, 132, sctp(1000 + 300 * n, 36412 if n % 2 else 80, 7 if n < 4 else 100 + n, chunks))
    for kind in range(11):
        for x in (0, 1):
            head = struct.pack("!HHBBHBB", 1500 + kind, 80 if x else 81, 6, 0, 0, kind << 1 | x, 0) + struct.pack("!HI", 0, 9)
            yield send4(a, b, 33, summed(a, b, 33, head + b"\0" * 12, 6))


def other_protocols():
    """AH, ESP, IPComp, GRE and IGMP."""
    a, b = "192.0.2.9", "192.0.2.1"
    inner = udp(a, b, 1000, 53)
    for n in range(1, 9):
        yield send4(a, b, 51, struct.pack("!BBHII", 17, 4, 0, 256 * n, n) + b"\0" * 12 + inner)
        yield send4(a, b, 50, struct.pack("!II", 256 * n, n) + b"e" * 32)
        yield send4(a, b, 108, struct.pack("!BBH", 6 if n % 2 else 17, 0, n) + b"c" * 32)
        yield send4(a, b, 47, struct.pack("!HH", 0, 0x0800 if n % 2 else 0x86DD) + ip4(a, b, 17, inner))
    for kind, group in ((0x11, "0.0.0.0"), (0x11, "224.0.0.251"), (0x16, "224.0.0.251"), (0x17, "224.0.0.251"),
                        (0x12, "239.1.2.3"), (0x16, "239.1.2.3")):
        body = struct.pack("!BBH", kind, 100 if kind == 0x11 else 0, 0) + socket.inet_aton(group)
        yield send4(a, b, 2, body[:2] + struct.pack("!H", checksum(body)) + body[4:], ttl=1)


def ext_headers6():
    """IPv6 with routing, mobility and longer destination headers."""
    c, d = "2001:db8::9", "2001:db8::1"
    payload = udp(c, d, 1234, 53)
    address = socket.inet_pton(socket.AF_INET6, "2001:db8::77")
    for kind, left in ((2, 0), (2, 1), (4, 0), (253, 0)):
        yield send6(c, d, 43, bytes([17, 2, kind, left]) + b"\0" * 4 + address + payload)
    for kind in (1, 2, 5, 6):
        yield send6(c, d, 135, summed(c, d, 135, bytes([59, 1, kind, 0]) + b"\0" * 12, 4))
    long = bytes([17, 1]) + b"\1\x0c" + b"\0" * 12
    yield send6(c, d, 60, long + payload)
    yield send6(c, d, 60, bytes([43]) + long[1:] + bytes([17, 2, 4, 0]) + b"\0" * 4 + address + payload)
    for n in range(3):
        yield send6(c, d, 44, struct.pack("!BBHI", 17, 0, 1, 8 + n) + payload)


def fragments():
    """Datagrams whole, in two and in three parts."""
    a, b, c, d = "192.0.2.9", "192.0.2.1", "2001:db8::9", "2001:db8::1"
    for n, parts in enumerate([1, 2, 3, 2, 2, 3]):
        data = udp(a, b, 1000 + n, 53 + n % 2, b"f" * (592 if n % 2 else 88))
        step = (len(data) // parts + 7) // 8 * 8
        for at in range(0, len(data), step):
            more = at + step < len(data)
            yield send4(a, b, 17, data[at:at + step], ident=n + 3, frag=more << 13 | at // 8)
        data = udp(c, d, 1000 + n, 53 + n % 2, b"f" * (592 if n % 2 else 88))
        for at in range(0, len(data), step) if parts > 1 else ():
            more = at + step < len(data)
            yield send6(c, d, 44, struct.pack("!BBHI", 17, 0, at | more, n + 3) + data[at:at + step])


def port_fragments(a="192.0.2.9", b="192.0.2.1", c="2001:db8::9", d="2001:db8::1"):
    """Segments to ports 22, 80 and others whole, in three parts, and in one part with a fragment header; what
    is not in front has at its beginning what looks like the ports of a segment to 22, 80 or 443."""
    looks = [struct.pack("!HHIIBBHHH", 40000, port, 1, 0, 0x50, 2, 8192, 0, 0) + b"p" * 12 for port in (22, 80, 443)]
    ident = 100
    for dport in (22, 80, 443, 8080):
        for k in range(len(looks)):
            ident += 1
            order = looks[k:] + looks[:k]
            # The first part has 32 bytes: the header and some data.
            for data, send, src, dst in ((tcp(a, b, 40000 + k, dport, data=b"d" * 12 + order[0] + order[1]), send4, a, b),
                                         (tcp(c, d, 40000 + k, dport, data=b"d" * 12 + order[0] + order[1]), send6, c, d)):
                for at, more in ((0, 1), (32, 1), (64, 0)):
                    part = data[at:at + 32]
                    if send is send4:
                        yield send(src, dst, 6, part, ident=ident, frag=more << 13 | at // 8)
                    else:
                        yield send(src, dst, 44, struct.pack("!BBHI", 6, 0, at | more, ident) + part)
        yield tcp4(a, b, 41000, dport)
        yield tcp6(c, d, 41000, dport)
        yield send6(c, d, 44, struct.pack("!BBHI", 6, 0, 0, ident) + tcp(c, d, 42000, dport))
        # One that is alone, has no header in front, and is the last.
        yield send4(a, b, 6, looks[0], ident=ident + 50, frag=4)


def port_edges():
    """A range of ports for one host: both ends of it, what is beside them, another host."""
    for src in ("192.0.2.77", "192.0.2.78", "198.51.100.77"):
        for port in (49, 50, 51, 53, 89, 90, 91, 1900, 65535, 0):
            yield udp4(src, "192.0.2.1", 4000, port)


def connections():
    """Many openings of connections from few hosts, some of them twice."""
    for n in range(60):
        src = "192.0.2.%d" % (20 + n % 4)
        yield tcp4(src, "192.0.2.1", 30000 + n // 8, [22, 80, 443][n % 3], "S", seq=n)
        yield udp4(src, "192.0.2.1", 31000 + n % 7, 53)


def bridged():
    """Frames from one host of a bridge to another and to all."""
    to = HOST_MAC[1]
    a, b = "192.0.2.9", "192.0.2.10"
    other = bytes.fromhex("020000000011")
    for n in range(60):
        src, tags = (a, b)[n % 2], [(), (), ((0x8100, 10),), ((0x8100, 15 | 5 << 13),)][n % 4]
        kind = n % 5
        body = udp(src, "192.0.2.77", 1000 + n % 7, 53) if kind < 2 else tcp(src, "192.0.2.77", 2000 + n, 80, "S" if n % 2 else "A") \
            if kind < 4 else icmp(8)
        frame = ether(ip4(src, "192.0.2.77", 17 if kind < 2 else 6 if kind < 4 else 1, body), 0x0800, 0, to, tags)
        yield 0, frame[:6] + (HOST_MAC[0] if n % 3 else other) + frame[12:]
    for n in range(8):
        yield 0, ether(ip6("2001:db8::9", "2001:db8::77", 17, udp("2001:db8::9", "2001:db8::77", 999, 53)), 0x86DD, 0, to)
        op = 1 + n % 2
        body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, op) + HOST_MAC[0] + socket.inet_aton("192.0.2.%d" % (9 + n)) + \
            b"\0" * 6 + socket.inet_aton("192.0.2.77")
        yield 0, ether(body, 0x0806, 0, b"\xff" * 6 if op == 1 else to)
        yield 0, ether(b"\2\7\4" + b"\0" * 43, 0x88CC, 0, to)


def sent():
    """Packets of the host itself."""
    a, b, c, d = "192.0.2.1", "192.0.2.9", "2001:db8::1", "2001:db8::9"
    for n in range(40):
        dport = PORTS[n % len(PORTS)]
        yield tcp4(a, b, 5000 + n, dport, "S" if n % 2 else "A", seq=n, ip={"ident": n + 1})
        yield udp4(a, b, 5000 + n % 9, dport, ip={"ident": n + 100, "ttl": 64 if n % 3 else 5})
        yield udp6(c, d, 5000 + n, dport)
    for n in range(5):
        yield send4(a, b, 1, icmp(8, 0, struct.pack("!HH", n, 1)), ident=n + 1000)


def sent_to_many():
    """Datagrams to addresses of all types. Those that a host drops before any rule are not among them."""
    for n, to in enumerate(("192.0.2.1", "198.18.0.1", "192.0.2.77", "8.8.8.8", "224.0.0.5", "239.1.2.3", "255.255.255.255")):
        yield udp4("192.0.2.9", to, 3000 + n, 53)
    for n, to in enumerate(("2001:db8::1", "2001:db8:1::1", "2001:db8::77", "2001:db8:ffff::1", "ff02::5")):
        yield udp6("2001:db8::9", to, 3000 + n, 53)


def one_way():
    """Two packets of each of many flows through the router, no answers: what translation does not tear apart."""
    for n in range(12):
        for _ in range(2):
            yield udp4("192.0.2.9", f"198.18.0.{8 + n % 3}", 3000 + n, 1000 + n)
            yield udp6("2001:db8::9", f"2001:db8:1::{8 + n % 3}", 3000 + n, 1000 + n)
    yield tcp4("192.0.2.9", "198.18.0.9", 4000, 1001, "S")
    yield tcp4("192.0.2.9", "198.18.0.9", 4000, 1001, "S")
    yield send4("192.0.2.9", "198.18.0.9", 1, icmp(8))


STREAMS = {f.__name__: f for f in (mix4, mix6, port_edges, forward4, forward6, conversations, vlans, arps,
                                   extension_headers, ip_options, tcp_options, sctp_dccp, other_protocols,
                                   ext_headers6, fragments, port_fragments, connections, bridged, sent, one_way, sent_to_many)}


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def write_pcapng(path, frames, names):
    """A pcapng with one Ethernet interface a name; a millisecond between frames."""
    with open(path, "wb") as out:
        out.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for name in names:
            text = name.encode()
            option = struct.pack("<HH", 2, len(text)) + text + b"\0" * (-len(text) % 4)
            out.write(block(1, struct.pack("<HHI", 1, 0, 0) + option + struct.pack("<HH", 0, 0)))
        for n, (iface, frame) in enumerate(frames):
            stamp = 1_700_000_000_000_000 + n * 1000
            out.write(block(6, struct.pack("<IIIII", iface, stamp >> 32, stamp & 0xFFFFFFFF, len(frame),
                                           len(frame)) + frame))
