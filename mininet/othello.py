#!/usr/bin/python3
"""Mode `othello` in Mininet, on three switches, through ten changes in a row.

Two clients hold TCP connections and flows of datagrams through two VIPs, with packets
on all of them all the time. Backends are added, weighed up and down, drained and removed.
On the backends' hosts `evenflow agent` tells of TCP connections, so that what changes have
moved is pinned; flows of datagrams are noted by the switches. After each change new
connections are made: of each client as many must be at each backend as the controller has
foretold for their ports, and all together must be divided by weight (chi-square). No
connection may break, and none may move, but those of a backend that is removed.

The last line is `othello: ok held=N flows=N changes=10 new=N pins=N broken=0 moved=0 ...`,
with exit code 0, or `othello: FAILED ...` with 1.
"""
import argparse
import collections
import math
import os
import subprocess
import sys
import urllib.parse

import connections
import evenflow
import trial
from handover import ADDRESS, BACKENDS, CLIENTS, PORT, Listening, ThreeEdges, datagrams, recirculated
from service import Failure, say

VIPS = {"tcp": ("tcp", 80), "udp": ("udp", 81)}
SILENT = 0.6  # of the flows of datagrams
FIRST_HELD, FIRST_NEW = 10000, 2000  # ports of the clients
LEAST = 1e-6  # probability of a division of new connections that is not taken for a fault


def chance(counts, weights):
    """The probability that a division by weight is at least as uneven as this one (chi-square)."""
    total, weight = sum(counts.values()), sum(weights.values())
    x = sum((counts[n] - total * w / weight) ** 2 / (total * w / weight) for n, w in weights.items()) / 2
    freedom = len(weights) - 1
    if freedom % 2 == 0:
        return math.exp(-x) * sum(x ** i / math.factorial(i) for i in range(freedom // 2))
    return math.erfc(math.sqrt(x)) + math.exp(-x) * sum(x ** (i - 0.5) / math.gamma(i + 0.5) for i in range(1, (freedom + 1) // 2))


class Agents:
    """`evenflow agent` on the hosts of backends, and its way to the controller."""

    def __init__(self, net):
        relay = ["/usr/bin/python3", os.path.join(evenflow.HERE, "relay.py")]
        way, self.net, self.processes = os.path.join(evenflow.run_dir(), "agents.sock"), net, []
        self.processes.append(subprocess.Popen(relay + [way, net.controllers[0].http], stdout=subprocess.PIPE, preexec_fn=evenflow.die_with_parent))
        for name in BACKENDS:
            self.processes.append(evenflow.popen_in(net[name], relay + ["127.0.0.1:8079", way]))
        for process in self.processes:
            process.stdout.readline()  # it listens

    def start(self, name):
        log = os.path.join(evenflow.run_dir(), "agent-%s.log" % name)
        argv = [evenflow.PROGRAM, "agent", "--server", "http://127.0.0.1:8079", "--host", self.net[name].IP(), "--interval", "1s"]
        self.processes.append(evenflow.start_in(self.net[name], argv, log))

    def stop(self):
        for process in self.processes:
            evenflow.end(process)


class Proof:
    """The VIPs on a started network, and what is held through them."""

    def __init__(self, net, args):
        self.net, self.controller, self.new, self.made = net, net.controllers[0], args.new // len(CLIENTS), 0
        self.tcp, self.answered, self.silent = (n // len(CLIENTS) for n in (args.tcp, args.udp - int(SILENT * args.udp), int(SILENT * args.udp)))
        self.held, self.gone, self.pins, self.least = {"tcp": [], "udp": []}, set(), 0, 1.0
        self.weights = {"b1": 2, "b2": 1, "b3": 1, "b4": 1}
        for name, (protocol, port) in VIPS.items():
            self.controller.call("POST", "/api/v1/vips?wait=60s", {
                "name": name, "address": ADDRESS, "protocol": protocol, "port": port, "mode": "othello", "handover_idle": "30s",
                "backends": [self.backend(n, w) for n, w in self.weights.items()]})
            self.controller.await_("the VIP to be up", lambda: self.status(name)["phase"] == "up")

    def backend(self, name, weight):
        return {"name": name, "address": self.net[name].IP(), "port": PORT, "weight": weight}

    def status(self, name):
        return self.controller.call("GET", "/api/v1/vips/" + name)["status"]

    def hold(self):
        for client in CLIENTS:
            self.held["tcp"].append(connections.Held(self.net[client], "http://%s:80/" % ADDRESS, self.tcp, FIRST_HELD))
            self.held["udp"].append(connections.Reporting(self.net[client], datagrams("hold", ADDRESS, 81, self.answered, self.silent)))
        alive = sum(connections.reports(self.held["tcp"] + self.held["udp"])[0].values())
        if alive != (self.tcp + self.answered) * len(CLIENTS):
            raise Failure("%d connections are alive at first" % alive)

    def change(self, method, path, body=None):
        for name in VIPS:
            self.controller.call(method, "/api/v1/vips/%s/backends%s?wait=60s" % (name, path), body)

    def add(self, name, weight):
        self.weights[name] = weight
        self.change("POST", "", self.backend(name, weight))

    def weigh(self, name, weight):
        self.weights[name] = weight
        self.change("PATCH", "/" + name, {"weight": weight})

    def drain(self, name):
        del self.weights[name]
        self.change("PATCH", "/" + name, {"admin": "draining"})

    def remove(self, name):
        """Its connections end, and its flows of datagrams go elsewhere."""
        connections.reports(self.held["tcp"])
        self.gone.add(name)
        self.change("DELETE", "/" + name)

    def newcomers(self, what):
        """New connections, as many at each backend as foretold, and divided by weight."""
        first, counts = FIRST_NEW + self.made, collections.Counter()
        self.made += self.new
        running = [connections.Fetching([self.net[client]], "http://%s:80/" % ADDRESS, self.new, first) for client in CLIENTS]
        for client, fetching in zip(CLIENTS, running):
            result, errors = fetching.finish()
            if errors:
                raise Failure("%s: %d new connections failed: %s" % (what, len(errors), errors[0]))
            got = collections.Counter({name: n for name, (n, _) in result.items()})
            foretold = collections.Counter(self.foretold(self.net[client].IP(), port) for port in range(first, first + self.new))
            if got != foretold:
                raise Failure("%s: of %s are foretold %s, and are %s" % (what, client, dict(foretold), dict(got)))
            counts += got
        probability = chance(counts, self.weights)
        self.least = min(self.least, probability)
        say("%-14s %d new connections as foretold, %s; chi-square p=%.3f" % (
            what + ":", self.new * len(CLIENTS), ", ".join("%s %d" % n for n in sorted(counts.items())), probability))
        if probability < LEAST or set(counts) - set(self.weights):
            raise Failure("%s: they are not divided by weight" % what)

    def foretold(self, address, port):
        query = urllib.parse.urlencode({"proto": "tcp", "src": "%s:%d" % (address, port), "dst": ADDRESS + ":80"})
        return self.controller.call("GET", "/api/v1/explain?" + query)["backend"]

    def pinned(self):
        """Wait until the older generations have gone; note how many pins there were."""
        for name in VIPS:
            self.controller.await_("older generations of %s to go" % name, lambda: self.status(name)["handover"]["generations"] == 1, 4 * evenflow.LIMIT)
        pins = [self.status(name)["handover"].get("pins", 0) for name in VIPS]
        say("  older generations have gone; pins: %s" % ", ".join("%s %d" % p for p in zip(VIPS, pins)))
        self.pins = max(self.pins, sum(pins))

    def judge(self, listening):
        """How many connections are broken and how many have moved, once all have been asked again."""
        _, broken, errors = connections.reports(self.held["tcp"] + self.held["udp"])
        kinds = sum((k for name, k in broken.items() if name not in self.gone), collections.Counter())
        moved = kinds.pop("moved", 0)
        heard = listening.heard()
        for held in self.held["udp"]:
            for port in held.report()["silent"]:
                moved += len(heard[port]) > 1 and not heard[port] & self.gone
        for error in errors[:3] if kinds.total() or moved else []:
            say("  " + error)
        return kinds.total(), moved

    def stop(self):
        for held in self.held["tcp"] + self.held["udp"]:
            held.stop()


def prove(net, args, listening, agents):
    """The proof on a started network; return the last line."""
    net.controllers[0].await_network(net)
    proof = Proof(net, args)
    try:
        for name in list(proof.weights):
            agents.start(name)
        proof.hold()
        for number, (what, change) in enumerate([
                ("b5 added", lambda: (proof.add("b5", 1), agents.start("b5"))),
                ("b6 added", lambda: (proof.add("b6", 2), agents.start("b6"))),
                ("b2 weighs 3", lambda: proof.weigh("b2", 3)),
                ("b2 weighs 1", lambda: proof.weigh("b2", 1)),
                ("b3 drains", lambda: proof.drain("b3")),
                ("b3 removed", lambda: proof.remove("b3")),
                ("b1 weighs 1", lambda: proof.weigh("b1", 1)),
                ("b6 weighs 1", lambda: proof.weigh("b6", 1)),
                ("b4 drains", lambda: proof.drain("b4")),
                ("b4 removed", lambda: proof.remove("b4"))], start=1):
            change()
            proof.newcomers(what)
            if number in (5, 10):
                proof.pinned()
        broken, moved = proof.judge(listening)
        if broken or moved or recirculated(net):
            raise Failure("broken=%d moved=%d recirculated=%d" % (broken, moved, recirculated(net)))
        if not proof.pins:
            raise Failure("nothing was pinned: the test proves nothing")
        trial.no_errors(net.controllers[0])
        return "held=%d flows=%d changes=%d new=%d pins=%d broken=0 moved=0 chi-square p>=%.3f" % (
            args.tcp, args.udp, number, proof.made * len(CLIENTS), proof.pins, proof.least)
    finally:
        proof.stop()


def main():
    args = argparse.ArgumentParser(description="Connections held in Mininet through ten changes of mode othello.")
    args.add_argument("--tcp", type=int, default=300, help="connections")
    args.add_argument("--udp", type=int, default=100, help="flows of datagrams")
    args.add_argument("--new", type=int, default=200, help="new connections after each change")
    args = args.parse_args()

    def show():
        net = evenflow.network(ThreeEdges())
        with trial.started(net) as running:
            hosts = [net[b] for b in BACKENDS]
            running.append(connections.Servers(hosts, PORT))
            running.append(Listening(hosts))
            running.append(Agents(net))
            return prove(net, args, *running[1:])

    return trial.tell("othello", show)


if __name__ == "__main__":
    sys.exit(main())
