#!/usr/bin/python3
"""Live connections that break when the set of backends or the gateways change, by who keeps them.

A client holds connections through a VIP, with requests on each all the time, while
a backend is added, one drained, one weighed anew, the gateway changed, and one
removed; the connections of the backend that is removed must end, and do not count.
Before each of these, connections are opened anew for those that have broken.
Backends sit at three switches behind two gateways, each switch in an Open vSwitch of
its own.

Through the controller:

deferred           mode `deferred`: the gateway keeps nothing, changes hand connections over
no handover        the same with `handover: 1`: per-packet choice by stable bucket ids, as in OVN's deferred-nat series
group              mode `group`: the client's switch keeps connections in its conntrack

By hand, with ovs-ofctl and no controller (byhand.py), NAT beside the backend:

stable             `hash`, stable bucket ids, each backend in a conntrack zone of its own
replaced           the same, but each change makes a new group and deletes the old one
renumbered         bucket ids are places in the list, the group is modified
named by content   both: a new group with bucket ids by place, as where a group is known by what is in it
dp_hash            `dp_hash`, stable ids, a weight is the bucket's

NAT and conntrack on the gateway, by hand:

state on gateway   `hash`, stable ids, once for each connection

Writes deferred_nat.csv and deferred_nat.svg into a folder; with --docs it writes the
plot and the table of docs/experiments.md anew.
"""
import collections
import contextlib
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
# pylint: disable=wrong-import-position
from alone import Alone
import byhand
import connections
import evenflow
from gateways import Gateways
import report
from byhand import Choice, Stateful, Stateless
from mininet.log import setLogLevel
from mininet.net import Mininet
from service import Service, say

THROUGH_EVENFLOW = {
    "deferred": ("mode `deferred`", {"mode": "deferred"}),
    "no handover": ("the same without hand-over", {"mode": "deferred", "handover": 1}),
    "group": ("mode `group`, state at the client's switch", {"mode": "group"}),
}
BY_HAND = {
    "stable": ("by hand: stable bucket ids", Stateless, Choice(byhand.HASH)),
    "replaced": ("by hand: stable ids, group replaced", Stateless, Choice(byhand.HASH, replaced=True)),
    "renumbered": ("by hand: ids renumbered", Stateless, Choice(byhand.HASH, by_place=True)),
    "named by content": ("by hand: ids renumbered, group replaced", Stateless, Choice(byhand.HASH, by_place=True, replaced=True)),
    "dp_hash": ("by hand: `dp_hash`", Stateless, Choice("dp_hash", weighted=True)),
    "state on gateway": ("by hand: state on the gateway", Stateful, Choice(byhand.HASH)),
}
NAMES = {method: about[0] for method, about in (THROUGH_EVENFLOW | BY_HAND).items()}
EVENTS = ["added", "drained", "weighed anew", "gateway changed", "removed"]
CACHED = 0.5  # seconds until nothing goes by what Open vSwitch had cached before a change
SILENCE = "TimeoutError"  # how a connection breaks that is not reset

Result = collections.namedtuple("Result", "seed method backends event alive broken hung")


class ThroughEvenflow:
    """The VIP at the controller, with what is done to it."""

    def __init__(self, net, initial, fields, gateways=1):
        self.gateways = [net[s].dpid for s in net.topo.gateways] if fields["mode"] == "deferred" else []
        used = {"gateways": self.gateways[:gateways]} if self.gateways else {}
        hosts = [h for h in net.hosts if h.name[0] == "b"]
        self.vip = Service(net.controllers[0], "web", byhand.VIP, byhand.PORT, byhand.BACKEND_PORT, hosts, **fields, **used)
        self.vip.declare(initial)
        self.vip.controller.await_("the VIP to be up", lambda: self.vip.read()["status"]["phase"] == "up")
        self.add, self.remove, self.close = self.vip.add, self.vip.remove, self.vip.delete

    def drain(self, name):
        self.vip.set(name, admin="draining")

    def weigh(self, name, weight):
        self.vip.set(name, weight=weight)

    def move(self):
        self.vip.alter(gateways=self.gateways[1:])


class Watched:
    """Connections that are held, so many as there shall be at the beginning of each event, from ports of the client in turn."""

    def __init__(self, client, count, port):
        self.client, self.count, self.port = client, count, port
        self.held, self.lost = [], set()

    def fill(self):
        """Open so many as are missing; what look() says then."""
        seen = self.look()
        missing = self.count - seen[0]
        if missing:
            self.held.append(connections.Held(self.client, "http://%s:%d/" % (byhand.VIP, byhand.PORT), missing, self.port))
            self.port += missing
            seen = self.look()
        return seen

    def look(self):
        """How many live, how many have broken so far, and how many of these had no answer: without those of backends that are gone."""
        alive, broken, _ = connections.reports(self.held)
        kinds = collections.Counter()
        for name in broken.keys() - self.lost:
            kinds.update(broken[name])
        return sum(count for name, count in alive.items() if name not in self.lost), kinds.total(), kinds[SILENCE]

    def stop(self):
        for held in self.held:
            held.stop()


def play(seed, method, size, balancer, watched):
    """All events, one after the other: the results."""
    drained, weighed, gone = random.Random(seed).sample(["b%d" % i for i in range(1, size + 1)], 3)
    changes = {
        "added": lambda: balancer.add("b%d" % (size + 1)),
        "drained": lambda: balancer.drain(drained),
        "weighed anew": lambda: balancer.weigh(weighed, 3),
        "gateway changed": balancer.move,
        "removed": lambda: balancer.remove(gone),
    }
    out = []
    for event, change in changes.items():
        if (method, event) == ("group", "gateway changed"):
            continue
        if event == "removed":
            watched.lost.add(gone)
        alive, broken, hung = watched.fill()
        change()
        time.sleep(CACHED)
        _, broken_now, hung_now = watched.look()
        out.append(Result(seed, method, size, event, alive, broken_now - broken, hung_now - hung))
        say("seed %d, %-16s %2d backends, %-15s %3d alive, %3d broken, of which %d got no answer" % out[-1])
    return out


@contextlib.contextmanager
def serving(net):
    """A started network with a web server on each backend, stopped at the end."""
    servers = None
    try:
        net.start()
        servers = connections.Servers([h for h in net.hosts if h.name[0] == "b"], byhand.BACKEND_PORT)
        yield net
    finally:
        if servers:
            servers.stop()
        net.stop()


def first_port(seed, method, count):
    """From where on a method's connections have their ports: those of two methods do not meet."""
    return 10000 + seed * 997 % 8000 + list(NAMES).index(method) * len(EVENTS) * count


def measure(seed, size, methods, count):
    """The results of all of these methods with so many backends."""
    names, out = ["b%d" % i for i in range(1, size + 1)], []

    def each(net, some, balancer):
        for method in (m for m in some if m in methods):
            made, watched = balancer(method), Watched(net["c1"], count, first_port(seed, method, count))
            try:
                out.extend(play(seed, method, size, made, watched))
            finally:
                watched.stop()
                made.close()

    if set(methods) & set(THROUGH_EVENFLOW):
        with serving(evenflow.network(Gateways(backends=size + 1))) as net:
            net.controllers[0].await_network(net)
            each(net, THROUGH_EVENFLOW, lambda method: ThroughEvenflow(net, names, THROUGH_EVENFLOW[method][1]))
    if set(methods) & set(BY_HAND):
        with serving(Mininet(topo=Gateways(backends=size + 1), switch=Alone, controller=None, autoSetMacs=True)) as net:
            each(net, BY_HAND, lambda method: BY_HAND[method][1](net, names, BY_HAND[method][2], random.Random(seed)))
    return out


def table(results):
    """The results as text for the documentation: of each event the connections broken in per cent, by number of backends."""
    sizes, alive, broken = sorted({r.backends for r in results}), collections.Counter(), collections.Counter()
    for r in results:
        alive[r.method, r.event, r.backends] += r.alive
        broken[r.method, r.event, r.backends] += r.broken

    def cell(*of):
        return ", ".join("%.0f" % (100 * broken[*of, n] / alive[*of, n]) if alive[*of, n] else "–" for n in sizes)
    measured = {r.method for r in results}
    rows = [[name] + [cell(method, event) for event in EVENTS] for method, name in NAMES.items() if method in measured]
    return "Broken, in per cent of %d connections; of %s backends.\n\n" % (
        max(alive.values()), ", of ".join(map(str, sizes))) + report.table(["", *EVENTS], rows)


def plot(results, path):
    """Bars: what each event has broken, by method and number of backends."""
    pyplot = report.plotting()
    sizes, methods = sorted({r.backends for r in results}), [m for m in NAMES if any(r.method == m for r in results)]
    figure, axes = pyplot.subplots(1, len(EVENTS), figsize=(2.3 * len(EVENTS), 1 + 0.32 * len(methods)), layout="constrained",
                                   sharey=True, squeeze=False)
    for axis, event in zip(axes[0], EVENTS):
        for place, (n, colour) in enumerate(zip(sizes, ("#2a6fb0", "#e08a2e", "#7f8c8d", "#c0392b"))):
            got = [[r for r in results if (r.method, r.event, r.backends) == (m, event, n)] for m in methods]
            axis.barh([i + 0.27 * place for i in range(len(methods))],
                      [100 * sum(r.broken for r in some) / max(1, sum(r.alive for r in some)) for some in got], 0.25, color=colour,
                      label="%d backends" % n)
        axis.set(yticks=[i + 0.27 for i in range(len(methods))], yticklabels=[NAMES[m].replace("`", "") for m in methods], xlim=(0, 100),
                 xlabel="broken, %", title=event)
    axes[0][0].invert_yaxis()
    axes[0][EVENTS.index("gateway changed")].legend(fontsize=7, frameon=False, loc="upper right")  # where little breaks
    report.save(figure, path)


def main():
    parser = report.arguments("Live connections that break when backends or gateways change.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="of who is drained, weighed, removed; of ports and places")
    parser.add_argument("--sizes", type=int, nargs="+", default=[3, 10, 50], help="numbers of backends, 3 to 100")
    parser.add_argument("--methods", nargs="+", default=list(NAMES), choices=NAMES, metavar="METHOD", help="some of: " + ", ".join(NAMES))
    parser.add_argument("--held", type=int, default=100, help="connections, 300 at most")
    parser.add_argument("--quick", action="store_true", help="3 backends and 30 connections")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    if not 1 <= args.held <= 300 or not all(3 <= size <= 100 for size in args.sizes):
        parser.error("backends are 3 to 100, connections 1 to 300")
    if args.quick:
        args.sizes, args.held = [3], 30
    setLogLevel("error")
    evenflow.signals_interrupt()
    results = []
    for seed in args.seeds:
        for size in args.sizes:
            results += measure(seed, size, args.methods, args.held)
    report.write_csv(results, args.out, "deferred_nat.csv")
    report.publish("deferred_nat", lambda path: plot(results, path), table(results), args)
    print(table(results))


if __name__ == "__main__":
    sys.exit(main())
