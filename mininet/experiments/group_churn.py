#!/usr/bin/python3
"""What a change of one backend moves, by method of choosing, and what weights give.

The first packets of 10,000 connections, always the same ones, go through a real
Open vSwitch before and after each change, with nothing remembered between; which
backend each is given is read from what comes out. Methods:

evenflow        mode `group`, through the controller: stable bucket ids, INSERT and
                REMOVE_BUCKET; a weight is a number of buckets (here 4 for 1)
renumbered      the same hash, bucket ids given anew from the list at each change
dp_hash         stable bucket ids
default         no selection method named
bucket weight   the same hash, stable ids, a weight is the bucket's
maglev          65,537 slots, computed (maglev.py)

Writes group_churn.csv and group_churn.svg into a folder; with --docs it writes
the plot and the tables of docs/experiments.md anew.
"""
import collections
import csv
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
# pylint: disable=wrong-import-position
from alone import Alone
import evenflow
import injector
import maglev
import report
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo
from service import Service, say

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT, SIZES = 10000, (10, 100)
FINE = 4  # replicas of a backend of weight 1, where weights are halved
VIP, VIP_MAC = "10.0.0.100", "02:ef:00:00:00:01"
METHODS = {
    "evenflow": "Evenflow: stable bucket ids, one bucket changed",
    "renumbered": "`hash`, bucket ids renumbered",
    "dp_hash": "`dp_hash`, stable ids",
    "default": "no method named, stable ids",
    "bucket weight": "`hash`, weight of the bucket",
    "maglev": "Maglev, 65,537 slots (computed)",
}

Result = collections.namedtuple("Result", "method backends change wanted got others")


class OneSwitch(Topo):
    """A client at port 1, and at port 2 whoever is to see what leaves."""

    def build(self):
        s1 = self.addSwitch("s1")
        self.addLink(self.addHost("c1", ip="10.0.0.11/8"), s1, port2=1)
        self.addLink(self.addHost("sink", ip="10.9.255.254/8"), s1, port2=2)


# Changes of backends 1 to n, each of weight 1: the backend it is about, and the weights afterwards.
def removed(n):
    gone = n // 2
    return gone, {b: 1 for b in range(1, n + 1) if b != gone}


def added(n):
    return n + 1, {b: 1 for b in range(1, n + 2)}


def doubled(n):
    return n // 2, dict({b: 1 for b in range(1, n + 1)}, **{}) | {n // 2: 2}


def halved(n):
    return n // 2, {b: 1 for b in range(1, n + 1)} | {n // 2: 0.5}


MOVES = {"one removed": removed, "one added": added}
WEIGHTS = {"one doubled": doubled, "one halved": halved}


def compare(method, n, change, before, after, weights, backend):
    """What a change has moved. wanted and got: of a removal or addition all that moved, of a weight the backend's share
    afterwards, in per cent; others: moved between backends that the change is not about."""
    moved = sum(a != b for a, b in zip(before, after))
    others = sum(a != b and backend not in (a, b) for a, b in zip(before, after))
    if change in WEIGHTS:
        wanted, got = 100 * weights[backend] / sum(weights.values()), after.count(backend)
    else:
        wanted, got = 100 / (n if change == "one removed" else n + 1), moved
    percent = 100 / len(before)
    row = Result(method, n, change, wanted, got * percent, others * percent)
    say("%-13s %3d backends, %-12s wanted %5.2f %%, got %5.2f %%, others %5.2f %%" % row)
    return row


def every_change(method, changes, measure):
    """The results of a method; measure({backend: weight}, new name) says which backend each connection is given."""
    out = []
    for n in SIZES:
        before = measure({b: 1 for b in range(1, n + 1)})
        for name, change in changes.items():
            backend, weights = change(n)
            out.append(compare(method, n, name, before, measure(weights), weights, backend))
    return out


def forget(switch):
    """Let a switch begin anew with every connection."""
    switch.appctl("dpctl/flush-conntrack")
    switch.appctl("revalidator/purge")


def by_hand(all_connections):
    """What select groups do that are changed as a whole, without a controller."""
    net = Mininet(topo=OneSwitch(), switch=Alone, controller=None, autoSetMacs=True)
    try:
        net.start()
        switch, client = net["s1"], net["c1"]
        source = injector.Injector(client, net["sink"], VIP, VIP_MAC)
        switch.ofctl("add-group", "group_id=1,type=select")
        switch.ofctl("add-flow", "in_port=1,ip,actions=group:1")

        def measurer(selection, ids):
            def measure(weights):
                buckets = [",bucket=bucket_id=%d,weight=%d,actions=set_field:%s->eth_dst,output:2" % (
                    number, 2 * weights[b], injector.backend_mac(b)) for number, b in ids(weights)]
                switch.ofctl("mod-group", "group_id=1,type=select" + selection + "".join(buckets))
                forget(switch)
                return source.picks(all_connections)
            return measure

        def stable(weights):
            return [(b, b) for b in sorted(weights)]

        def renumbered(weights):
            """By the place in the list; who has come is second in it."""
            order = sorted(weights)
            if len(order) - 1 in SIZES:
                order.insert(1, order.pop())
            return list(enumerate(order))

        hashed = ",selection_method=hash,fields(ip_src,ip_dst,nw_proto,tcp_src,tcp_dst)"
        out = every_change("renumbered", MOVES, measurer(hashed, renumbered))
        out += every_change("dp_hash", MOVES, measurer(",selection_method=dp_hash", stable))
        out += every_change("default", MOVES, measurer("", stable))
        out += every_change("bucket weight", WEIGHTS, measurer(hashed, stable))
        source.close()
        return out
    finally:
        net.stop()


class Backend:
    """Of a service, without a host of Mininet."""

    def __init__(self, number):
        self.name = "b%d" % number
        self.address = "10.9.%d.%d" % divmod(number, 256)

    def IP(self):  # pylint: disable=invalid-name
        return self.address


def through_evenflow(all_connections):
    """What mode `group` does, changed over REST."""
    net = evenflow.network(OneSwitch())
    answers = None
    try:
        net.start()
        controller, switch, sink = net.controllers[0], net["s1"], net["sink"]
        answers = evenflow.start_in(sink, ["/usr/bin/python3", os.path.join(HERE, "answer_arp.py"), sink.defaultIntf().name],
                                    os.path.join(evenflow.run_dir(), "answers.log"))
        controller.await_network(net)
        source = injector.Injector(net["c1"], sink, VIP, VIP_MAC)
        vip = Service(controller, "web", VIP, 80, 8080, [Backend(b) for b in range(1, max(SIZES) + 2)])
        weight_now = {}

        def become(weights, scale):
            """Change the VIP one backend at a time."""
            for b in [b for b in weight_now if b not in weights]:
                vip.remove("b%d" % b)
                del weight_now[b]
            for b, w in weights.items():
                if b not in weight_now:
                    vip.add("b%d" % b, weight=int(w * scale))
                elif weight_now[b] != int(w * scale):
                    vip.set("b%d" % b, weight=int(w * scale))
                weight_now[b] = int(w * scale)

        out = []
        for changes, scale in (MOVES, 1), (WEIGHTS, FINE):
            def measure(weights):
                become(weights, scale)
                forget(switch)
                return source.picks(all_connections)
            vip.declare([])
            net["c1"].cmd("ping -c1 -W5 " + VIP)  # lets it be known
            out += every_change("evenflow", changes, measure)
            vip.delete()
            weight_now.clear()
        source.close()
        return out
    finally:
        evenflow.end(answers)
        net.stop()


def computed(all_connections):
    def measure(weights):
        return [int(name[1:]) for name in maglev.picks({"b%d" % b: w for b, w in weights.items()}, all_connections)]
    return every_change("maglev", MOVES, measure) + every_change("maglev", WEIGHTS, measure)


def tables(results):
    """The results as text for the documentation."""
    by = {(r.method, r.backends, r.change): r for r in results}

    def rows(changes, cell):
        return [[name] + [cell(by[method, n, change]) for change in changes for n in SIZES]
                for method, name in METHODS.items() if (method, SIZES[0], changes[0]) in by]

    def head(changes):
        return ["method"] + ["%s, %d" % (change, n) for change in changes for n in SIZES]

    def ideal(changes):
        return [["ideal"] + ["%.2f" % by["evenflow", n, change].wanted + " / 0" for change in changes for n in SIZES]]

    moves, weights = list(MOVES), list(WEIGHTS)
    return ("Moved, in per cent of all connections: in all / between backends that were there before and after. Of 10 and of 100 backends.\n\n" +
            report.table(head(moves), rows(moves, lambda r: "%.2f / %.2f" % (r.got, r.others)) + ideal(moves)) +
            "\nShare of a backend whose weight has changed, in per cent / moved between the others.\n\n" +
            report.table(head(weights), rows(weights, lambda r: "%.2f / %.2f" % (r.got, r.others)) + ideal(weights)))


def plot(results, path):
    """Bars: what each change moved by method, and between survivors; the shares that weights gave."""
    pyplot = report.plotting()
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    by = {(r.method, r.backends, r.change): r for r in results}
    for axis, n in zip(axes, SIZES):
        methods = [m for m in METHODS if (m, n, "one removed") in by]
        for place, (change, colour) in enumerate((("one removed", "#2a6fb0"), ("one added", "#e08a2e"))):
            at = [i + 0.4 * place for i in range(len(methods))]
            axis.barh(at, [by[m, n, change].got for m in methods], 0.36, color=colour, alpha=0.35, label=change)
            axis.barh(at, [by[m, n, change].others for m in methods], 0.36, color=colour, label=change + ", between survivors")
        axis.axvline(by["evenflow", n, "one removed"].wanted, color="black", linewidth=0.8, linestyle=":", label="ideal")
        axis.set(yticks=[i + 0.2 for i in range(len(methods))], yticklabels=methods if n == SIZES[0] else [], xlim=(0, 100),
                 xlabel="connections moved, %", title="%d backends" % n)
        axis.invert_yaxis()
    axes[1].legend(fontsize=7, loc="lower right", frameon=False)
    cases = [(n, change) for n in SIZES for change in WEIGHTS]
    for place, (method, colour) in enumerate((("evenflow", "#2a6fb0"), ("bucket weight", "#c0392b"), ("maglev", "#7f8c8d"))):
        axes[2].bar([i + 0.27 * place for i in range(len(cases))], [by[method, *c].got for c in cases], 0.25, color=colour, label=method)
    for i, case in enumerate(cases):
        axes[2].hlines(by["evenflow", *case].wanted, i - 0.15, i + 0.7, color="black", linewidth=0.8, linestyle=":")
    axes[2].set(xticks=[i + 0.27 for i in range(len(cases))], ylabel="share, % (dotted: wanted)", ylim=(0, 75), title="one weight changed",
                xticklabels=["%s\nof %d" % (change.split()[1], n) for n, change in cases])
    axes[2].legend(fontsize=7, frameon=False)
    report.save(figure, path)


def main():
    parser = report.arguments("What a change of one backend moves, and what weights give.")
    parser.add_argument("--seed", type=int, default=1, help="of the connections' addresses and ports")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    setLogLevel("error")
    evenflow.signals_interrupt()
    all_connections = injector.connections(COUNT, args.seed)
    results = through_evenflow(all_connections) + by_hand(all_connections) + computed(all_connections)
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "group_churn.csv"), "w", encoding="ascii", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(Result._fields)
        rows.writerows(r._replace(wanted="%.4f" % r.wanted, got="%.2f" % r.got, others="%.2f" % r.others) for r in results)
    report.publish("group_churn", lambda path: plot(results, path), tables(results), args)


if __name__ == "__main__":
    sys.exit(main())
