"""Backends that do nothing but answer ARP, each by a MAC of its own: answer_arp.py INTERFACE, in a host's namespace.

10.9.H.L is at 02:09:00:00:HH:LL.
"""
import socket
import struct
import sys

ETH_P_ARP = 0x0806


def answer(frame):
    """The answer to a question for one of the backends, None to anything else."""
    if len(frame) < 42 or frame[12:22] != b"\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01" or frame[38:40] != b"\x0a\x09":
        return None
    asker, asker_address, wanted = frame[22:28], frame[28:32], frame[38:42]
    mac = b"\x02\x09\x00\x00" + wanted[2:]
    return asker + mac + frame[12:20] + struct.pack("!H", 2) + mac + wanted + asker + asker_address


def main(interface):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ARP)) as link:
        link.bind((interface, ETH_P_ARP))
        while True:
            reply = answer(link.recv(2048))
            if reply:
                link.send(reply)


if __name__ == "__main__":
    main(sys.argv[1])
