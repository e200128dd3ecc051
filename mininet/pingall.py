#!/usr/bin/python3
"""Ping between all hosts of several topologies, over IPv4 and over IPv6, with Evenflow as the controller.

The last line is `pingall: ok ...`, with exit code 0, or `pingall: FAILED ...`
with 1. Run it by `make pingall`; arguments choose topologies.
"""
import sys

import evenflow
import trial
from mininet.topo import LinearTopo, SingleSwitchTopo
from mininet.topolib import TreeTopo
from service import say

TOPOLOGIES = {
    "single": lambda: SingleSwitchTopo(4),
    "linear": lambda: LinearTopo(4),
    "tree": lambda: TreeTopo(3, 3),
    "ring": lambda: evenflow.RingTopo(4),
    "paper": lambda: evenflow.PaperTopo(),
}


def add_ipv6(hosts):
    """Give each host the address fd00::N, N being the last number of its IPv4 address; what each host has, by host."""
    addresses = {}
    for host in hosts:
        addresses[host] = "fd00::%s" % host.IP().rsplit(".", 1)[1]
        # without detecting duplicates, which only delays
        for argv in (["sysctl", "-qw", "net.ipv6.conf.%s.disable_ipv6=0" % host.defaultIntf()],
                     ["ip", "address", "add", addresses[host] + "/64", "dev", str(host.defaultIntf()), "nodad"]):
            shell = evenflow.popen_in(host, argv)
            _, err = shell.communicate(timeout=evenflow.LIMIT)
            if shell.returncode:
                raise RuntimeError("%s: %s: %s" % (host.name, " ".join(argv), err.decode(errors="replace")))
    return addresses


def ping_all(addresses):
    """Each host pings each other one's address, all hosts at a time, and again if a busy switch has lost that; the pairs without answer."""
    shells = []
    for host in addresses:
        others = " ".join(address for other, address in addresses.items() if other is not host)
        shells.append(evenflow.popen_in(host, ["sh", "-c", "p='ping -qc1 -W10'; for ip in %s; do $p $ip >/dev/null || $p $ip >/dev/null || echo $ip; done" % others]))
    lost = []
    for host, shell in zip(addresses, shells):
        out, err = shell.communicate(timeout=evenflow.LIMIT + 24 * len(addresses))
        if shell.returncode:
            raise RuntimeError("%s cannot ping: %s" % (host.name, err.decode(errors="replace")))
        lost += ["%s to %s" % (addresses[host], ip) for ip in out.decode().split()]
    return lost


def check(name):
    """Build one topology and ping; return how many pings were sent."""
    if name not in TOPOLOGIES:
        raise RuntimeError("%s: no topology, they are %s" % (name, ", ".join(TOPOLOGIES)))
    net = evenflow.network(TOPOLOGIES[name]())
    with trial.started(net):
        net.controllers[0].await_network(net)
        lost = ping_all({host: host.IP() for host in net.hosts}) + ping_all(add_ipv6(net.hosts))
        if lost:
            raise RuntimeError("%s: no answer: %s" % (name, ", ".join(lost[:20])))
        return 2 * len(net.hosts) * (len(net.hosts) - 1)


def main():
    def show():
        total = 0
        for name in sys.argv[1:] or TOPOLOGIES:
            sent = check(name)
            say("%-7s %4d pings, all answered" % (name, sent))
            total += sent
        return "pings=%d" % total

    return trial.tell("pingall", show)


if __name__ == "__main__":
    sys.exit(main())
