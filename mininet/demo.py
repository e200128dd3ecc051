#!/usr/bin/python3
"""The demo: a VIP balanced over four servers by Evenflow, in Mininet.

Two clients hold 60 connections through the VIP, with requests on them all the
time, and fetch pages, each over a new connection, while what an operator does,
and what he does not, happens: see ACTS. No request may fail. No connection may
break or go to another server, but those to a server that is lost, or that has
drained for as long as it may. A batch of requests after each act shows who
serves. A second VIP shows the same of a mode whose gateways keep no state.

On a terminal the network stays up at the end until Enter or Ctrl-C. The last
line is `demo: ok requests=N failed=0 broken=0`, with exit code 0, or
`demo: FAILED ...` with 1. Run it by `make demo`.
"""
import argparse
import sys

import connections
import evenflow
import trial
from service import Failure, Service, say

BACKEND_PORT = 8080
BACKENDS = ["b1", "b2", "b3", "b4"]
CLIENTS = ["c1", "c2"]
HELD = 60  # connections
DRAIN = 10  # seconds that connections to a draining backend have


class Demo:
    """A VIP on a started network, and what came of the traffic through it."""

    def __init__(self, net, each, name="web", address="10.0.0.100", **fields):
        self.net, self.controller, self.each = net, net.controllers[0], each
        self.vip = Service(self.controller, name, address, 80, BACKEND_PORT, [net[name] for name in BACKENDS], **fields)
        self.clients = [net[name] for name in CLIENTS]
        self.batches = []  # (names that must serve, {name: [answers, failures]})
        self.held = []
        self.lost = {}  # servers whose connections end rightly, and how many of theirs were broken before
        self.broken = 0
        self.beside = []  # demos of further VIPs

    def another(self, name, address, **fields):
        """A demo of another VIP, whose batches and broken connections are told of with this one's."""
        other = Demo(self.net, self.each, name, address, **fields)
        other.batches = self.batches
        self.beside.append(other)
        return other

    def batch(self, title, serving):
        """Requests from both clients at once, which all of `serving` must answer and nobody else may."""
        result, errors = connections.Fetching(self.clients, self.vip.url, self.each).finish()
        self.batches.append((serving, result))
        say("  batch %d: %s" % (len(self.batches), title))
        for error in errors[:3]:
            say("    failed: " + error)

    def hold(self):
        for client in self.clients:
            self.held.append(connections.Held(client, self.vip.url, HELD // len(self.clients)))
        self.check_held()

    def check_held(self):
        """Tell what has become of the connections that are held, once each has been asked again."""
        alive, broken, errors = connections.reports(self.held)
        ended = sum(broken[name].total() - before for name, before in self.lost.items())
        self.broken = HELD - sum(alive.values()) - ended
        say("  connections held: %d alive (%s)%s, %d broken" % (
            sum(alive.values()), ", ".join("%s %d" % (n, alive[n]) for n in BACKENDS if alive[n]),
            ", %d ended with %s" % (ended, " and ".join(sorted(self.lost))) if self.lost else "", self.broken))
        for error in errors[:3] if self.broken else []:
            say("    broken: " + error)

    def lose(self, name):
        """From now on a server's connections may end."""
        _, broken, _ = connections.reports(self.held)
        self.lost[name] = broken[name].total()

    def judge(self):
        """Raise Failure unless what was shown is what was promised; return the number of requests."""
        requests = sum(sum(c) for _, result in self.batches for c in result.values())
        failed = sum(c[1] for _, result in self.batches for c in result.values())
        for number, (serving, result) in enumerate(self.batches, start=1):
            silent = [n for n in serving if not result.get(n, [0])[0]]
            wrong = [n for n in result if result[n][0] and n not in serving]
            if silent:
                raise Failure("%s served nothing in batch %d" % (", ".join(silent), number))
            if wrong:
                raise Failure("%s served %d connections in batch %d" % (wrong[0], result[wrong[0]][0], number))
        broken = self.broken + sum(other.broken for other in self.beside)
        if failed or broken:
            raise Failure("requests=%d failed=%d broken=%d" % (requests, failed, broken))
        return requests

    def stop(self):
        for running in self.held + self.beside:
            running.stop()


def others(*away):
    return [name for name in BACKENDS if name not in away]


def added(demo):
    """A backend is added: b4"""
    demo.vip.add("b4")
    demo.check_held()
    demo.batch("four backends", BACKENDS)


def drained(demo):
    """A backend is drained: b1"""
    demo.vip.set("b1", admin="draining")
    demo.check_held()
    demo.batch("no new connections for b1", others("b1"))


def controller_killed(demo):
    """The controller is killed (kill -9), and comes again"""
    demo.controller.kill()
    for client in demo.clients:
        client.cmd("ip neigh flush all")
    demo.check_held()
    demo.batch("without a controller", others("b1"))
    demo.controller.start()
    demo.controller.await_network(demo.net)
    demo.vip.await_states({"b2": "up", "b3": "up", "b4": "up"})
    demo.check_held()
    demo.vip.set("b1", admin="enabled")
    demo.vip.await_states({"b1": "up"})
    demo.batch("four backends under the next controller", BACKENDS)


def cable_pulled(demo):
    """A backend's cable is pulled, and put back: b2"""
    demo.lose("b2")
    demo.net["b2"].cmd("ip link set b2-eth0 down")
    say("  shown down after %.1f s" % demo.vip.await_states({"b2": "down"}))
    demo.batch("three backends", others("b2"))
    demo.check_held()
    demo.net["b2"].cmd("ip link set b2-eth0 up")
    say("  shown up after %.1f s" % demo.vip.await_states({"b2": "up"}))
    demo.batch("four backends", BACKENDS)


def drain_ended(demo):
    """A backend is drained to the end, and removed: b3"""
    demo.vip.alter(drain_timeout="%ds" % DRAIN)
    demo.vip.set("b3", admin="draining")
    demo.check_held()
    demo.batch("no new connections for b3", others("b3"))
    demo.lose("b3")
    say("  drained after %.1f s; what was left is ended then" % demo.vip.await_states({"b3": "drained"}))
    demo.check_held()
    demo.vip.remove("b3")
    demo.batch("three backends", others("b3"))
    demo.check_held()


def gateways_moved(demo):
    """A VIP of mode deferred, whose gateways keep nothing: b4 is added, b1 drained, and the gateways move"""
    other = demo.another("stateless", "10.0.0.101", mode="deferred")
    other.vip.declare(["b1", "b2"])
    other.hold()
    other.vip.add("b4")
    other.check_held()
    other.vip.set("b1", admin="draining")
    for switch in ("s2", "s3"):
        other.vip.alter(gateways=[demo.net[switch].dpid])
        other.check_held()
    other.batch("no new connections for b1, chosen for at s3", ["b2", "b4"])


ACTS = [added, drained, controller_killed, cable_pulled, drain_ended, gateways_moved]


def table(batches):
    """The text of the result: per backend the connections of each batch, their sum, share and failures."""
    results = [result for _, result in batches]
    names = list(BACKENDS) + sorted({n for r in results for n in r} - set(BACKENDS))
    total = sum(r[n][0] for r in results for n in r)
    rows = [["backend"] + ["batch %d" % i for i in range(1, len(results) + 1)] + ["connections", "share", "failures"]]
    for name in names:
        done = [r.get(name, (0, 0))[0] for r in results]
        lost = sum(r.get(name, (0, 0))[1] for r in results)
        if name or lost:
            rows.append([name or "(none)"] + [str(d) for d in done] +
                        [str(sum(done)), "%.1f%%" % (100.0 * sum(done) / max(1, total)), str(lost)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]) for row in rows)


def show(demo):
    """Run the demo on a started network; return the number of requests."""
    demo.controller.await_network(demo.net)
    say("network up: clients c1, c2 - s1 - s2 (b1, b2), s3 (b3, b4); controller at http://%s" % demo.controller.http)
    demo.vip.declare(others("b4"))
    say("VIP %s: %s, backends' port %d" % (demo.vip.name, demo.vip.url, BACKEND_PORT))
    demo.hold()
    demo.batch("three backends", others("b4"))
    for act in ACTS:
        say(act.__doc__)
        act(demo)
    say("\n%s\n" % table(demo.batches))
    return demo.judge()


def linger(controller):
    say("The network stays up: http://%s/api/v1/vips/web and the rest of the interface. Enter ends it." % controller.http)
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        pass


def run(program, each, stay):
    """Bring the network up, show the demo, take everything down; return the number of requests."""
    net = evenflow.network(evenflow.PaperTopo(), program=program)
    with trial.started(net) as running:
        running.append(connections.Servers([net[name] for name in BACKENDS], BACKEND_PORT))
        demo = Demo(net, each)
        running.append(demo)
        requests = show(demo)
        if stay:
            linger(net.controllers[0])
        return requests


def main():
    args = argparse.ArgumentParser(description="A VIP balanced over four servers by Evenflow, in Mininet.")
    args.add_argument("--requests", type=int, default=100, help="requests of either client in each batch")
    args.add_argument("--evenflow", default=evenflow.PROGRAM, help="the program")
    args.add_argument("--stay", action=argparse.BooleanOptionalAction, default=sys.stdin.isatty() and sys.stdout.isatty(),
                      help="keep the network up at the end (default: on a terminal)")
    args = args.parse_args()
    return trial.tell("demo", lambda: "requests=%d failed=0 broken=0" % run(args.evenflow, args.requests, args.stay))


if __name__ == "__main__":
    sys.exit(main())
