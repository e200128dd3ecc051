#!/usr/bin/python3
"""No connection is lost: mode `deferred` in Mininet, on three switches, through random changes of its backends.

Two clients hold TCP connections and flows of datagrams through two VIPs, with packets
on all of them all the time, while the sets of backends change, one time after the
other, at random: none may break, and none may move to another backend. Some of
the flows of datagrams are not answered, so that nothing but the servers tells where
they go: each client's port must have been seen by one of them.

Then the same without hand-over, and with so little of it that what is needed is
dropped: both must break connections, or the first run has proved nothing.

The last line is `handover: ok held=N flows=N changes=N broken=0 moved=0; without: ...`,
with exit code 0, or `handover: FAILED ...` with 1.
"""
import argparse
import collections
import json
import os
import random
import signal
import sys

import connections
import evenflow
import trial
from mininet.topo import Topo
from service import Failure, say

BACKENDS = ["b%d" % i for i in range(1, 7)]
CLIENTS = ["c1", "c2"]
PORT = 8080  # of the backends
ADDRESS = "10.0.0.100"
VIPS = {"tcp": ("tcp", 80), "udp": ("udp", 81)}
SILENT = 0.6  # of the flows of datagrams
LACKING = 0.2, 5  # part of the connections, and changes, of the runs that must break some
RUNS = {  # fields of the VIPs, and what is said with each change
    "with hand-over": ({}, ""),
    "without hand-over": ({"handover": 1}, "&drop_oldest=true"),
    "with too little of it": ({"handover": 2}, "&drop_oldest=true"),
}


class ThreeEdges(Topo):
    """s1 - s2 - s3 in a line, two of the backends at each, the clients at s1."""

    def build(self):
        edges = [self.addSwitch("s%d" % i) for i in (1, 2, 3)]
        for left, right in zip(edges, edges[1:]):
            self.addLink(left, right, port1=10, port2=11)
        for i, client in enumerate(CLIENTS):
            self.addLink(self.addHost(client, ip="10.0.0.%d/24" % (11 + i)), edges[0], port2=1 + i)
        for i, backend in enumerate(BACKENDS):
            self.addLink(self.addHost(backend, ip="10.0.0.%d/24" % (1 + i)), edges[i // 2], port2=3 + i % 2)


def datagrams(*args):
    return ["/usr/bin/python3", os.path.join(evenflow.HERE, "datagrams.py")] + [str(a) for a in args]


class Listening:
    """A server for datagrams on each of some hosts, which knows the ports it has heard of."""

    def __init__(self, hosts):
        self.servers = {h.name: evenflow.popen_in(h, datagrams("serve", h.name, PORT)) for h in hosts}
        for server in self.servers.values():
            server.stdout.readline()  # it listens

    def heard(self):
        """By port of a client, the servers that have had datagrams of it that they did not answer."""
        by = collections.defaultdict(set)
        for name, server in self.servers.items():
            server.send_signal(signal.SIGUSR1)
            for port in json.loads(server.stdout.readline()):
                by[port].add(name)
        return by

    def stop(self):
        for server in self.servers.values():
            evenflow.end(server)


class Proof:
    """The VIPs on a started network, and what is held through them."""

    def __init__(self, net, seed, tcp, udp, **fields):
        self.net, self.controller, self.random = net, net.controllers[0], random.Random(seed)
        self.tcp, self.answered, self.silent = (n // len(CLIENTS) for n in (tcp, udp - int(SILENT * udp), int(SILENT * udp)))
        self.held = {"tcp": [], "udp": []}
        for name, (protocol, port) in VIPS.items():
            self.controller.call("POST", "/api/v1/vips?wait=60s", dict(fields, name=name, address=ADDRESS, protocol=protocol, port=port,
                                                                       mode="deferred", backends=self.draw()))
            self.controller.await_("the VIP to be up", lambda: self.controller.call("GET", "/api/v1/vips/" + name)["status"]["phase"] == "up")

    def draw(self):
        """All backends; two to five at random take connections, the others drain."""
        chosen = self.random.sample(BACKENDS, self.random.randint(2, 5))
        return [{"name": b, "address": self.net[b].IP(), "port": PORT, "weight": self.random.randint(1, 2),
                 "admin": "enabled" if b in chosen else "draining"} for b in BACKENDS]

    def hold(self):
        for client in CLIENTS:
            url = "http://%s:%d/" % (ADDRESS, VIPS["tcp"][1])
            self.held["tcp"].append(connections.Held(self.net[client], url, self.tcp))
            self.held["udp"].append(connections.Reporting(self.net[client], datagrams("hold", ADDRESS, VIPS["udp"][1], self.answered, self.silent)))
        alive = sum(self.alive().values())
        if alive != (self.tcp + self.answered) * len(CLIENTS):
            raise Failure("%d connections are alive at first" % alive)

    def alive(self):
        return connections.reports(self.held["tcp"] + self.held["udp"])[0]

    def change(self, query):
        """Give each VIP another set; it is in effect when this returns."""
        for name in VIPS:
            self.controller.call("PATCH", "/api/v1/vips/%s?wait=60s%s" % (name, query), {"backends": self.draw()})

    def judge(self, listening):
        """How many connections are broken, and how many have moved, once all have been asked again."""
        _, broken, errors = connections.reports(self.held["tcp"] + self.held["udp"])
        kinds = sum(broken.values(), collections.Counter())
        moved = kinds.pop("moved", 0)
        heard = listening.heard()
        for held in self.held["udp"]:
            for port in held.report()["silent"]:
                moved += len(heard[port]) > 1
                kinds["never heard"] += not heard[port]
        return kinds.total(), moved, errors

    def end(self):
        for held in self.held["tcp"] + self.held["udp"]:
            held.stop()
        for name in VIPS:
            self.controller.call("DELETE", "/api/v1/vips/%s?wait=30s" % name)


def recirculated(net):
    """How many packets the switches have dropped since they went round too often."""
    return sum(int(s.appctl("coverage/read-counter", "datapath_drop_recirc_error")) for s in net.switches)


def run(net, name, seed, tcp, udp, changes):
    """One run: how many connections have broken and moved."""
    fields, query = RUNS[name]
    listening = proof = None
    try:
        listening = Listening([net[b] for b in BACKENDS])  # anew: a port may be used again
        proof = Proof(net, seed, tcp, udp, **fields)
        proof.hold()
        for _ in range(changes):
            proof.change(query)
        broken, moved, errors = proof.judge(listening)
        say("%-22s %d TCP connections, %d flows of datagrams, %d changes: %d broken, %d moved" % (name + ":", tcp, udp, changes, broken, moved))
        for error in errors[:3] if not fields else []:
            say("  " + error)
        return broken, moved
    finally:
        if proof:
            proof.end()
        if listening:
            listening.stop()


def prove(net, args):
    """All runs; return the last line."""
    net.controllers[0].await_network(net)
    lacking = [int(LACKING[0] * n) for n in (args.tcp, args.udp)]
    broken, moved = run(net, "with hand-over", args.seed, args.tcp, args.udp, args.changes)
    without = {name: run(net, name, args.seed, *lacking, LACKING[1]) for name in list(RUNS)[1:]}
    if broken or moved or recirculated(net):
        raise Failure("broken=%d moved=%d recirculated=%d" % (broken, moved, recirculated(net)))
    for name, lost in without.items():
        if not sum(lost):
            raise Failure("%s nothing breaks: the test proves nothing" % name)
    trial.no_errors(net.controllers[0])
    return "held=%d flows=%d changes=%d broken=0 moved=0; without: %s" % (
        args.tcp, args.udp, args.changes, ", ".join("broken=%d moved=%d" % lost for lost in without.values()))


def main():
    args = argparse.ArgumentParser(description="Connections held in Mininet through random changes of mode deferred.")
    args.add_argument("--seed", type=int, default=7, help="of the changes")
    args.add_argument("--changes", type=int, default=20)
    args.add_argument("--tcp", type=int, default=300, help="connections")
    args.add_argument("--udp", type=int, default=100, help="flows of datagrams")
    args = args.parse_args()

    def show():
        net = evenflow.network(ThreeEdges())
        with trial.started(net) as running:
            running.append(connections.Servers([net[b] for b in BACKENDS], PORT))
            return prove(net, args)

    return trial.tell("handover", show)


if __name__ == "__main__":
    sys.exit(main())
