"""First packets of TCP connections through a real switch, and which backend each was given: read from what comes out."""
import ctypes
import ipaddress
import os
import random
import select
import socket
import struct
import time

CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
ETH_P_ALL = 3
BURST = 200  # packets on their way at a time

_libc = ctypes.CDLL(None, use_errno=True)


def backend_mac(number):
    return "02:09:00:00:%02x:%02x" % divmod(number, 256)


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def raw_socket(host, protocol=ETH_P_ALL):
    """A packet socket at the only interface of a Mininet host."""
    def enter(path):
        with open(path, "rb") as namespace:
            if _libc.setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns " + path)
    here = "/proc/self/task/%d/ns/net" % _libc.gettid()
    home = os.open(here, os.O_RDONLY)
    try:
        enter("/proc/%d/ns/net" % host.pid)
        try:
            out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
            out.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
            out.bind((host.defaultIntf().name, protocol))
            return out
        finally:
            enter("/proc/self/fd/%d" % home)
    finally:
        os.close(home)


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def connections(count, seed):
    """Different client addresses and ports, always the same ones for a seed: [(address, port)]."""
    chance, seen = random.Random(seed), {}
    while len(seen) < count:
        seen["10.1.%d.%d" % (chance.randrange(256), chance.randrange(1, 255)), chance.randrange(1024, 65536)] = True
    return list(seen)


class Injector:
    """Sends by a client's port, and sees what leaves by another host's."""

    def __init__(self, client, sink, target, target_mac):
        self.source, self.sink = raw_socket(client), raw_socket(sink)
        self.head = mac_bytes(target_mac) + mac_bytes(client.MAC()) + b"\x08\x00"
        self.target = ipaddress.IPv4Address(target).packed
        self.round = 0  # is in each packet's IP identification, so that a late one is not taken for one of the next round

    def close(self):
        self.source.close()
        self.sink.close()

    def syn(self, address, port):
        source = ipaddress.IPv4Address(address).packed
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, self.round, 0, 64, 6, 0, source, self.target)
        tcp = struct.pack("!HHIIBBHHH", port, 80, 1, 0, 5 << 4, 2, 1000, 0, 0)
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        tcp = tcp[:16] + struct.pack("!H", checksum(source + self.target + struct.pack("!HH", 6, 20) + tcp)) + tcp[18:]
        return self.head + ip + tcp

    def picks(self, all_connections):
        """The number of the backend that each connection is given, in their order."""
        self.round += 1
        got = {}
        for begin in range(0, len(all_connections), BURST):
            some = all_connections[begin:begin + BURST]
            for _ in range(10):
                missing = [c for c in some if c not in got]
                for c in missing:
                    self.source.send(self.syn(*c))
                self.collect(got, {c: True for c in missing})
                if all(c in got for c in some):
                    break
            else:
                raise RuntimeError("%d of %d connections have come out nowhere" % (sum(c not in got for c in some), len(some)))
        return [got[c] for c in all_connections]

    def collect(self, got, missing):
        """Read what comes out until nothing is missing, or for a second."""
        give_up = time.monotonic() + 1
        while missing and time.monotonic() < give_up:
            if not select.select([self.sink], [], [], 0.1)[0]:
                continue
            frame = self.sink.recv(2048)
            if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[:2] != b"\x02\x09" or frame[18:20] != struct.pack("!H", self.round):
                continue
            c = socket.inet_ntoa(frame[26:30]), int.from_bytes(frame[34:36], "big")
            if missing.pop(c, None):
                got[c] = int.from_bytes(frame[4:6], "big")
