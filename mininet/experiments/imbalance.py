#!/usr/bin/python3
"""Schedulers compared on the network of Zhong, Lin, Cui, Shi and Liu (2015).

Four servers behind two switches, two clients behind a third; the same requests
(times and sizes, by seed) for each scheduler, over real TCP. Three cases: equal
servers, one with half the capacity that is known (weights 2, 2, 2, 1), and one
of which nobody has been told. Offered are 60 % of what the servers are thought
to have.

Writes imbalance.csv, rates.csv, f.csv and plots like the paper's into a folder;
with --docs it writes the plots and tables of docs/experiments.md anew.
"""
import argparse
import csv
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))

# pylint: disable=wrong-import-position
import evenflow
import flows
import imbalance_plots
import report
import trial
from mininet.log import setLogLevel
from service import Service, say

SERVERS, CLIENTS, PORT = ["b1", "b2", "b3", "b4"], ["c1", "c2"], 8080
MBITS = 8.0  # of a server
LOAD = 0.6
SLOW = "b4"
SCHEDULERS = ["round-robin", "greedy", "roulette", "sticky-roulette", "least-connections", "two-choices", "group"]
CASES = ["equal", "slow known", "slow unknown"]
FLOWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flows.py")
# As the paper tests: each window of 5 samples, whatever the size of the difference. It only looks on.
DETECTOR = """detector: {mode: paper, interval: 1s, window: 5, step: 1, gate: 0, gate_many: 0, streak: 1, release: 1, cool_down: 0, min_rate: 0}
"""


def capacity(case, name, known):
    """Of a server in Mbit/s: what it has, or what it is thought to have."""
    slow = name == SLOW and case != "equal" and not (known and case == "slow unknown")
    return MBITS / 2 if slow else MBITS


class Servers:
    """The servers of a case."""

    def __init__(self, net, case):
        self.processes = []
        for name in SERVERS:
            log = os.path.join(evenflow.run_dir(), name + ".log")
            argv = ["/usr/bin/python3", FLOWS, "serve", name, str(PORT), str(capacity(case, name, False))]
            self.processes.append(evenflow.start_in(net[name], argv, log))
        for name in SERVERS:
            ready = "for i in $(seq 300); do ss -Hltn sport = :%d | grep -q . && echo up && break; sleep 0.1; done" % PORT
            if "up" not in net[name].cmd(ready):
                self.stop()
                raise RuntimeError("the server on %s does not listen" % name)

    def stop(self):
        for process in self.processes:
            evenflow.end(process)


class Run:
    """One scheduler in one case with one seed, and what came of it."""

    def __init__(self, net, case, scheduler, seed, number, seconds):
        self.case, self.scheduler, self.seed = case, scheduler, seed
        controller = net.controllers[0]
        service = Service(controller, "run%d" % number, "10.0.0.%d" % (100 + number % 100), 80, PORT, [net[n] for n in SERVERS])
        spec = {"name": service.name, "address": service.address, "protocol": "tcp", "port": service.port, "mode": "nat",
                "scheduler": scheduler, "backends": [dict(service.backend(n), weight=int(2 * capacity(case, n, True) / MBITS)) for n in SERVERS]}
        if scheduler == "group":
            spec["mode"] = "group"
            del spec["scheduler"]
        controller.call("POST", "/api/v1/vips?wait=30s", spec)
        service.await_states(dict.fromkeys(SERVERS, "up"))
        for name in CLIENTS:
            net[name].cmd("ip neigh flush all")
        time.sleep(1.5)  # the schedulers have loads, and those of the run before are over
        before, rate = self.messages(controller), self.rate(case)
        began = time.time()
        clients = [evenflow.popen_in(net[n], ["/usr/bin/python3", FLOWS, "ask", service.url, str(seed * 10 + i), str(rate / len(CLIENTS)), str(seconds)])
                   for i, n in enumerate(CLIENTS)]
        time.sleep(seconds)
        self.rates = self.port_rates(controller, net, began, seconds)
        told = controller.call("GET", "/api/v1/vips/%s/imbalance" % service.name)
        self.f = [(t["time"], t["f"]) for t in told["history"]][-(seconds - 5):]
        results = []
        for client in clients:
            out, err = client.communicate(timeout=evenflow.LIMIT + flows.PATIENCE)
            if client.returncode:
                raise RuntimeError("a client ended with code %d: %s" % (client.returncode, err.decode(errors="replace")))
            results.append(json.loads(out))
        after = self.messages(controller)
        service.delete()
        self.flows = [flow for result in results for flow in result["flows"]]
        self.failed = [text for result in results for text in result["failed"]]
        self.messages_sent = {key: after[key] - before[key] for key in before}

    @staticmethod
    def rate(case):
        """Requests a second of all clients together."""
        return LOAD * sum(capacity(case, n, True) for n in SERVERS) * 1e6 / 8 / flows.mean_size()

    @staticmethod
    def messages(controller):
        """Packet-ins and modifications of all switches so far; readings of counters are the same for all schedulers."""
        switches = controller.call("GET", "/api/v1/switches")["items"]
        return {"packet_ins": sum(s["packet_ins"] for s in switches), "flow_mods": sum(s["flow_mods"] for s in switches)}

    @staticmethod
    def port_rates(controller, net, began, seconds):
        """Mbit/s of each server's port in each second but the first two, as the switches' counters say."""
        out = {}
        for name in SERVERS:
            link = net[name].defaultIntf().link
            port = link.intf1 if link.intf2.node is net[name] else link.intf2
            switch = port.node
            history = controller.call("GET", "/api/v1/switches/%s/ports/%d/history?seconds=%d" % (switch.dpid, switch.ports[port], seconds - 2))
            both = [(rx or 0) + (tx or 0) for rx, tx in zip(history["rx_bps"], history["tx_bps"])]
            out[name] = [x / 1e6 for x in both]
        return out

    def variation(self):
        """The fluctuation coefficient, in two readings: (CV over time, mean step over mean), each the mean over servers."""
        cv, step = [], []
        for series in self.rates.values():
            mean = statistics.fmean(series)
            if mean <= 0:
                continue
            cv.append(statistics.pstdev(series) / mean)
            step.append(statistics.fmean(abs(a - b) for a, b in zip(series, series[1:])) / mean)
        return statistics.fmean(cv), statistics.fmean(step)

    def row(self):
        times = sorted(flow[1] for flow in self.flows)
        cv, step = self.variation()
        share = {n: sum(1 for flow in self.flows if flow[3] == n) / max(1, len(self.flows)) for n in SERVERS}
        fs = [f for _, f in self.f if f is not None]
        return {"case": self.case, "scheduler": self.scheduler, "seed": self.seed, "flows": len(self.flows), "failed": len(self.failed),
                "cv": round(cv, 3), "step": round(step, 3), "f_median": round(statistics.median(fs), 2) if fs else "",
                "p50": quantile(times, .5), "p95": quantile(times, .95), "p99": quantile(times, .99),
                "packet_ins": self.messages_sent["packet_ins"], "flow_mods": self.messages_sent["flow_mods"],
                # a packet-in is answered by a packet-out
                "messages_per_flow": round((2 * self.messages_sent["packet_ins"] + self.messages_sent["flow_mods"]) / max(1, len(self.flows)), 2),
                **{"share_" + n: round(share[n], 3) for n in SERVERS}}


def quantile(ordered, q):
    return round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3) if ordered else ""


def run(program, seconds, seeds, schedulers, cases):
    """All runs, one after the other, on one network."""
    config = os.path.join(evenflow.run_dir(), "detector.yaml")
    with open(config, "w", encoding="utf-8") as out:
        out.write(DETECTOR)
    net, done = evenflow.network(evenflow.PaperTopo(), program=program, flags=["--config", config]), []
    with trial.started(net) as running:
        net.controllers[0].await_network(net)
        for case in cases:
            running.append(Servers(net, case))
            for seed in seeds:
                for scheduler in schedulers:
                    done.append(Run(net, case, scheduler, seed, len(done), seconds))
                    row = done[-1].row()
                    say("%-13s %-18s seed %d: %4d flows, %d failed, cv %.2f, step %.2f, p50 %.2f s, p99 %.2f s, %.2f messages a flow" % (
                        case, scheduler, seed, row["flows"], row["failed"], row["cv"], row["step"], row["p50"], row["p99"], row["messages_per_flow"]))
                    for text in done[-1].failed[:2]:
                        say("    failed: " + text)
            running.pop().stop()
        return done


def write(done, folder):
    os.makedirs(folder, exist_ok=True)
    rows = [r.row() for r in done]
    with open(os.path.join(folder, "imbalance.csv"), "w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    with open(os.path.join(folder, "rates.csv"), "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["case", "scheduler", "seed", "second"] + SERVERS)
        for r in done:
            for second, values in enumerate(zip(*(r.rates[n] for n in SERVERS))):
                table.writerow([r.case, r.scheduler, r.seed, second] + ["%.3f" % v for v in values])
    with open(os.path.join(folder, "f.csv"), "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["case", "scheduler", "seed", "test", "f"])
        for r in done:
            for number, (_, f) in enumerate(r.f):
                table.writerow([r.case, r.scheduler, r.seed, number, "" if f is None else "%.4g" % f])


def main():
    parser = argparse.ArgumentParser(description="Schedulers compared on the paper's network.")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--seeds", default="1,2", help="numbers, with commas between")
    parser.add_argument("--schedulers", default=",".join(SCHEDULERS))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--out", default=os.path.join(report.ROOT, "bin", "experiments"), help="folder for the tables and plots")
    parser.add_argument("--program", default=evenflow.PROGRAM)
    parser.add_argument("--docs", action="store_true", help="write docs/experiments.md and its plots anew")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    if args.seconds < 10:
        parser.error("--seconds %d: want 10 or more, for windows of 5 samples" % args.seconds)
    setLogLevel("error")
    evenflow.signals_interrupt()
    done = run(args.program, args.seconds, [int(s) for s in args.seeds.split(",")], args.schedulers.split(","), args.cases.split(","))
    write(done, args.out)
    imbalance_plots.draw([args.out], args.out)
    say(imbalance_plots.tables([args.out]))
    if args.docs:
        imbalance_plots.document([args.out])


if __name__ == "__main__":
    sys.exit(main())
