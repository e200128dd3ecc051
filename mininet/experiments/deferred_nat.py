#!/usr/bin/python3
"""Live connections that break when the set of backends or the gateways change, by who keeps them.

A client holds connections through a VIP, with requests on each all the time, while
a backend is added, one drained, one weighed anew, the gateway changed, and one
removed; the connections of the backend that is removed must end, and do not count.
Backends sit at three switches behind two gateways, each switch in an Open vSwitch of
its own: a switch knows the connections of all of its backends.

deferred    mode `deferred`: the gateway keeps nothing, changes hand connections over
no handover the same with `handover: 1`, which is what OVN's deferred-nat series does
group       mode `group`: the client's switch keeps connections in its conntrack

Writes deferred_nat.csv and deferred_nat.svg into a folder; with --docs it writes the
plot and the table of docs/experiments.md anew.
"""
import argparse
import collections
import csv
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
# pylint: disable=wrong-import-position
import connections
import evenflow
import report
from mininet.log import setLogLevel
from mininet.topo import Topo
from service import Service, say

VIP, PORT = "10.0.0.200", 8080
GATEWAYS = ["0000000000000002", "0000000000000003"]
METHODS = {
    "deferred": ("mode `deferred`", {"mode": "deferred"}),
    "no handover": ("the same without hand-over", {"mode": "deferred", "handover": 1}),
    "group": ("mode `group`, state at the client's switch", {"mode": "group"}),
}
EVENTS = ["added", "drained", "weighed anew", "gateway changed", "removed"]

Result = collections.namedtuple("Result", "method backends event held broken")


class TwoGateways(Topo):
    """c1 at s1; s2 and s3 lead from there to s4 to s6, where the backends are in turn: b1 to bN and one more."""

    def build(self, backends=3):
        s1, s2, s3, *edges = [self.addSwitch("s%d" % i) for i in range(1, 7)]
        for port, gateway in ((200, s2), (201, s3)):
            self.addLink(s1, gateway, port1=port, port2=1)
            for i, edge in enumerate(edges):
                self.addLink(gateway, edge, port1=2 + i, port2=port)
        self.addLink(self.addHost("c1", ip="10.0.0.250/24"), s1, port2=1)
        for i in range(1, backends + 2):
            self.addLink(self.addHost("b%d" % i, ip="10.0.0.%d/24" % i), edges[i % 3], port2=i)


class Watched:
    """Connections that are held, and how many have broken that should not have."""

    def __init__(self, client, url, count):
        self.held, self.count, self.lost = connections.Held(client, url, count), count, set()

    def broken(self):
        _, broken, _ = connections.reports([self.held])
        return sum(kinds.total() for name, kinds in broken.items() if name not in self.lost)


def play(net, method, size, count, draw):
    """All events, one after the other: the results."""
    names = ["b%d" % i for i in range(1, size + 1)]
    vip = Service(net.controllers[0], "web", VIP, 80, PORT, [net["b%d" % i] for i in range(1, size + 2)])
    fields = METHODS[method][1]
    gateways = {"gateways": GATEWAYS[:1]} if fields["mode"] == "deferred" else {}
    vip.controller.call("POST", "/api/v1/vips?wait=60s", dict(fields, **gateways, name="web", address=VIP, protocol="tcp", port=80,
                                                              backends=[vip.backend(n) for n in names]))
    vip.await_states(dict.fromkeys(names, "up"))
    vip.controller.await_("the VIP to be up", lambda: vip.read()["status"]["phase"] == "up")
    watched, out, before = Watched(net["c1"], vip.url, count), [], 0
    try:
        watched.broken()  # all are open
        drained, weighed, gone = draw.sample(names, 3)
        for event in EVENTS:
            if event == "added":
                vip.add("b%d" % (size + 1))
            elif event == "drained":
                vip.set(drained, admin="draining")
            elif event == "weighed anew":
                vip.set(weighed, weight=3)
            elif event == "gateway changed" and gateways:
                vip.alter(gateways=GATEWAYS[1:])
            elif event == "removed":
                watched.lost.add(gone)
                before = watched.broken()
                vip.remove(gone)
            else:
                continue
            now = watched.broken()
            out.append(Result(method, size, event, count, now - before))
            say("%-12s %2d backends, %-15s %d of %d broken" % (method, size, event, now - before, count))
            before = now
    finally:
        watched.held.stop()
        vip.delete()
    return out


def table(results):
    """The results as text for the documentation."""
    by = {(r.method, r.backends, r.event): r for r in results}
    sizes = sorted({r.backends for r in results})
    rows = [[name] + [", ".join(str(by[key, n, event].broken) if (key, n, event) in by else "–" for n in sizes) for event in EVENTS]
            for key, (name, _) in METHODS.items()]
    return "Broken, of %d connections; of %s backends.\n\n" % (results[0].held, " and of ".join(map(str, sizes))) + report.table(["", *EVENTS], rows)


def plot(results, path):
    """Bars: what each event has broken, by method and number of backends."""
    pyplot = report.plotting()
    sizes = sorted({r.backends for r in results})
    figure, axes = pyplot.subplots(1, len(sizes), figsize=(4.5 * len(sizes), 2.8), layout="constrained", sharey=True, squeeze=False)
    for axis, n in zip(axes[0], sizes):
        for place, (method, colour) in enumerate(zip(METHODS, ("#2a6fb0", "#c0392b", "#7f8c8d"))):
            got = {r.event: 100 * r.broken / r.held for r in results if (r.method, r.backends) == (method, n)}
            axis.bar([EVENTS.index(e) + 0.27 * place for e in got], list(got.values()), 0.25, color=colour, label=METHODS[method][0].replace("`", ""))
        axis.set(xticks=[i + 0.27 for i in range(len(EVENTS))], xticklabels=[e.replace(" ", "\n") for e in EVENTS], title="%d backends" % n)
    axes[0][0].set(ylabel="connections broken, %")
    axes[0][-1].legend(fontsize=7, frameon=False)
    report.save(figure, path)


def main():
    parser = argparse.ArgumentParser(description="Live connections that break when backends or gateways change.")
    parser.add_argument("--out", default=os.path.join(report.ROOT, "bin", "experiments"), help="folder for the table and the plot")
    parser.add_argument("--seed", type=int, default=1, help="of the backends that are drained, weighed and removed")
    parser.add_argument("--sizes", type=int, nargs="+", default=[3, 10], help="numbers of backends, 3 to 100")
    parser.add_argument("--held", type=int, default=100, help="connections")
    parser.add_argument("--docs", action="store_true", help="write docs/experiments.md and its plot anew")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    setLogLevel("error")
    evenflow.signals_interrupt()
    results = []
    for size in args.sizes:
        net, servers = evenflow.network(TwoGateways(backends=size)), None
        try:
            net.start()
            net.controllers[0].await_network(net)
            servers = connections.Servers([h for h in net.hosts if h.name != "c1"], PORT)
            for method in METHODS:
                results += play(net, method, size, args.held, random.Random(args.seed))
        finally:
            if servers:
                servers.stop()
            net.stop()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "deferred_nat.csv"), "w", encoding="ascii", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(Result._fields)
        rows.writerows(results)
    plot(results, os.path.join(args.out, "deferred_nat.svg"))
    if args.docs:
        plot(results, os.path.join(report.IMAGES, "deferred_nat.svg"))
        report.write_section("deferred_nat", table(results))


if __name__ == "__main__":
    sys.exit(main())
