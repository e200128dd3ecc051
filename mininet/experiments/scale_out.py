#!/usr/bin/python3
"""What gateways do for new connections, and what they keep of them, by their number: 1, 2 or 4.

Four clients open connections through a VIP as fast as they are answered, one at a
time each, with one request on each. Their switch spreads them over the gateways in
use, behind which two switches have two backends each; those are also joined with
the clients' switch directly. Each switch is an Open vSwitch of its own, and each row
is measured on a network made anew.

deferred           mode `deferred`, through the controller: a gateway chooses, answers go the direct way
state on gateway   by hand (byhand.py): conntrack and NAT on the gateway, so answers have to come back to it

Of each switch: processor time of its ovs-vswitchd, what its memory has grown by, most
cached flows at a time, and entries in its conntrack at the end. Writes scale_out.csv
and scale_out.svg into a folder; with --docs it writes the plot and the table of
docs/experiments.md anew.
"""
import collections
import os
import random
import re
import statistics
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
from deferred_nat import ThroughEvenflow, serving
from mininet.log import setLogLevel
from mininet.net import Mininet
from service import say

NAMES = {"deferred": "mode `deferred`", "state on gateway": "by hand: state on the gateway"}
NUMBERS = (1, 2, 4)  # of gateways in use
CLIENTS, BACKENDS, EDGES = 4, 4, 2
WARM_UP = 50  # connections of each client before anything is measured
FIRST_PORT = 10000  # of each client

# One switch in one run; connections and failed are those of the run, in all. role: client, gateway, unused, backend.
Result = collections.namedtuple("Result", "round method gateways switch role connections failed seconds"
                                          " cpu rss_begin rss_end flows conntrack")


class Daemon:
    """The ovs-vswitchd of a switch, watched from now on."""

    def __init__(self, switch):
        self.switch, self.cpu, self.rss = switch, evenflow.processor_time(switch.daemon), evenflow.memory(switch.daemon)

    def seen(self):
        """Processor time since then in seconds, memory then and now in kB, most cached flows, conntrack entries."""
        return (round(evenflow.processor_time(self.switch.daemon) - self.cpu, 2), self.rss, evenflow.memory(self.switch.daemon),
                int(re.search(r"flows +:.*\(max (\d+)\)", self.switch.appctl("upcall/show"))[1]),
                int(self.switch.appctl("dpctl/ct-get-nconns")))


def role(topo, switch, used):
    if switch in topo.gateways:
        return "gateway" if topo.gateways.index(switch) < used else "unused"
    return "backend" if switch in topo.edges else "client"


def load(net, each, first):
    """Every client opens so many connections, one after the other: how many were answered, how many not, and the seconds it took."""
    begin, clients = time.monotonic(), [h for h in net.hosts if h.name[0] == "c"]
    answers, _ = connections.Fetching(clients, "http://%s:%d/" % (byhand.VIP, byhand.PORT), each, first).finish()
    return sum(a for a, _ in answers.values()), sum(f for _, f in answers.values()), time.monotonic() - begin


def measure(turn, method, used, each):
    """One run on a network of its own: a result for each switch."""
    topo = Gateways(backends=BACKENDS, clients=CLIENTS, gateways=max(NUMBERS), edges=EDGES, direct=True)
    names, ours = ["b%d" % i for i in range(1, BACKENDS + 1)], method == "deferred"
    with serving(evenflow.network(topo) if ours else Mininet(topo=topo, switch=Alone, controller=None, autoSetMacs=True)) as net:
        if ours:
            net.controllers[0].await_network(net)
            ThroughEvenflow(net, names, {"mode": "deferred"}, used)
        else:
            byhand.Stateful(net, names, byhand.Choice(byhand.HASH), random.Random(turn), used)
        load(net, WARM_UP, FIRST_PORT)
        daemons = [Daemon(switch) for switch in net.switches]
        answered, failed, seconds = load(net, each, FIRST_PORT + WARM_UP + (turn - 1) * each)
        out = [Result(turn, method, used, d.switch.name, role(topo, d.switch.name, used), answered, failed, round(seconds, 2), *d.seen())
               for d in daemons]
    say("%-16s %d gateways: %4.0f connections/s, %d failed; of each gateway %s s of processor time, %s conntrack entries" % (
        method, used, answered / seconds, failed, ", ".join("%.2f" % r.cpu for r in out if r.role == "gateway"),
        ", ".join("%d" % r.conntrack for r in out if r.role == "gateway")))
    return out


def busiest(run, value):
    """The most that a gateway in use has of something."""
    return max(value(r) for r in run if r.role == "gateway")


def thousands(run):
    return run[0].connections / 1000


# What a run, the results of all its switches, tells; processor time and what memory has grown by are those of 1,000 connections.
COLUMNS = {
    "connections/s": ("%.0f", lambda run: run[0].connections / run[0].seconds),
    "CPU s, busiest gateway": ("%.2f", lambda run: busiest(run, lambda r: r.cpu) / thousands(run)),
    "conntrack entries": ("%.0f", lambda run: busiest(run, lambda r: r.conntrack)),
    "cached flows": ("%.0f", lambda run: busiest(run, lambda r: r.flows)),
    "memory, MB": ("%.1f", lambda run: busiest(run, lambda r: r.rss_end) / 1024),
    "grown, kB": ("%.0f", lambda run: busiest(run, lambda r: r.rss_end - r.rss_begin) / thousands(run)),
    "CPU s, all switches": ("%.2f", lambda run: sum(r.cpu for r in run) / thousands(run)),
}


def figure(results, method, used, column):
    """The median over all rounds."""
    rounds = collections.defaultdict(list)
    for r in results:
        if (r.method, r.gateways) == (method, used):
            rounds[r.round].append(r)
    return statistics.median(map(COLUMNS[column][1], rounds.values()))


def table(results):
    """The results as text for the documentation."""
    rows = [[NAMES[m], n] + [text % figure(results, m, n, column) for column, (text, _) in COLUMNS.items()] for m in NAMES for n in NUMBERS]
    unused = [1000 * r.cpu / r.connections for r in results if (r.method, r.role) == ("deferred", "unused")]
    head = ("Of %d connections; processor time, and what memory has grown by, for 1,000 of them; medians of %d runs. "
            "A gateway not in use took %.2f s.\n\n")
    return (head % (max(r.connections for r in results), len({r.round for r in results}), statistics.median(unused)) +
            report.table(["", "gateways", *COLUMNS], rows))


def plot(results, path):
    """Lines over the number of gateways, of each method."""
    pyplot = report.plotting()
    figures, axes = pyplot.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
    for axis, column in zip(axes, COLUMNS):
        for method, colour in zip(NAMES, ("#2a6fb0", "#c0392b")):
            axis.plot(NUMBERS, [figure(results, method, n, column) for n in NUMBERS], "o-", color=colour, label=NAMES[method].replace("`", ""))
        axis.set(xticks=NUMBERS, xlabel="gateways", title=column + (" for 1,000" if "CPU" in column else ""))
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=7, frameon=False, loc="lower right")
    report.save(figures, path)


def main():
    parser = report.arguments("Connections through 1, 2 and 4 gateways, and what these keep of them.")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each case, 5 at most")
    parser.add_argument("--each", type=int, default=1000, help="connections of each of the %d clients, 4000 at most" % CLIENTS)
    parser.add_argument("--quick", action="store_true", help="one round of 100 connections each")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    if not 1 <= args.rounds <= 5 or not 1 <= args.each <= 4000:
        parser.error("rounds are 1 to 5, connections of each client 1 to 4000: it has so many ports")
    if args.quick:
        args.rounds, args.each = 1, 100
    setLogLevel("error")
    evenflow.signals_interrupt()
    results = []
    for turn in range(1, args.rounds + 1):
        for method in NAMES:
            for used in NUMBERS:
                results += measure(turn, method, used, args.each)
    report.write_csv(results, args.out, "scale_out.csv")
    report.publish("scale_out", lambda path: plot(results, path), table(results), args)
    print(table(results))


if __name__ == "__main__":
    sys.exit(main())
