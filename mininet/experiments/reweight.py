#!/usr/bin/python3
"""Does moving weights help a service of which one server is slow, unknown to all?

The network, servers and requests of experiment imbalance, b4 with half of its
capacity, scheduler weighted-round-robin with weight 10 for each: once with
`on_imbalance: alarm`, once with `reweight`. The window is 20 samples of a
second, so that there is something to see in two minutes.

Writes reweight.csv, a line for each 20 s, into a folder; with --docs it writes
the table of docs/experiments.md anew.
"""
import argparse
import csv
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
# pylint: disable=wrong-import-position
import evenflow
import flows
import imbalance
import report
from mininet.log import setLogLevel
from service import Service, say

SERVERS, CLIENTS, SLOW, CASE = imbalance.SERVERS, imbalance.CLIENTS, imbalance.SLOW, "slow unknown"
DETECTOR = """detector: {window: 20, step: 5, streak: 2, release: 2, cool_down: 20}
"""
SPAN = 20  # seconds of a line of the table


def run(net, action, number, seed, seconds):
    """One service under requests: its lines, and what was told of it."""
    controller = net.controllers[0]
    service = Service(controller, "run%d" % number, "10.0.0.%d" % (100 + number), 80, imbalance.PORT, [net[n] for n in SERVERS])
    controller.call("POST", "/api/v1/vips?wait=30s", {
        "name": service.name, "address": service.address, "protocol": "tcp", "port": service.port, "mode": "nat",
        "scheduler": "weighted-round-robin", "on_imbalance": action, "backends": [dict(service.backend(n), weight=10) for n in SERVERS]})
    service.await_states(dict.fromkeys(SERVERS, "up"))
    for name in CLIENTS:
        net[name].cmd("ip neigh flush all")
    rate = imbalance.Run.rate(CASE) / len(CLIENTS)
    clients = [evenflow.popen_in(net[n], ["/usr/bin/python3", imbalance.FLOWS, "ask", service.url, str(seed * 10 + i), str(rate), str(seconds)])
               for i, n in enumerate(CLIENTS)]
    time.sleep(seconds)
    share = {b["name"]: b["share"] for b in service.read()["status"]["backends"]}
    done, failed = [], []
    for client in clients:
        out, err = client.communicate(timeout=evenflow.LIMIT + flows.PATIENCE)
        if client.returncode:
            raise RuntimeError("a client ended with code %d: %s" % (client.returncode, err.decode(errors="replace")))
        told = json.loads(out)
        done, failed = done + told["flows"], failed + told["failed"]
    events = [e["message"] for e in controller.call("GET", "/api/v1/events?last=1000")["items"] if e["subject"] == service.name and e["kind"] == "imbalance"]
    service.delete()
    lines = []
    for begin in range(0, seconds, SPAN):
        part = [f for f in done if begin <= f[0] < begin + SPAN]
        times = sorted(f[1] for f in part)
        slow = [f for f in part if f[3] == SLOW]
        lines.append({"on_imbalance": action, "seed": seed, "seconds": "%d–%d" % (begin, begin + SPAN), "flows": len(part),
                      "slow": round(100 * len(slow) / max(1, len(part)), 1), "p50": imbalance.quantile(times, .5),
                      "p95": imbalance.quantile(times, .95), "p99": imbalance.quantile(times, .99)})
    for text in events:
        say("  " + text)
    say("%s: %d flows, %d failed, shares at the end %s" % (action, len(done), len(failed), share))
    return lines


def table(lines):
    by = {}
    for line in lines:
        by.setdefault(line["seconds"], {})[line["on_imbalance"]] = line
    rows = [[seconds] + ["%.0f %%, %.2f s, %.1f s, %.1f s" % (r[a]["slow"], r[a]["p50"], r[a]["p95"], r[a]["p99"]) for a in ("alarm", "reweight")]
            for seconds, r in by.items()]
    return "New connections given to b4, and response times of all (p50, p95, p99), by second of their beginning:\n\n" + report.table(
        ["seconds", "`alarm`", "`reweight`"], rows)


def main():
    parser = argparse.ArgumentParser(description="Does moving weights help when one server is slow?")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default=os.path.join(report.ROOT, "bin", "experiments"), help="folder for the table")
    parser.add_argument("--program", default=evenflow.PROGRAM)
    parser.add_argument("--docs", action="store_true", help="write the table of docs/experiments.md anew")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    setLogLevel("error")
    evenflow.signals_interrupt()
    config = os.path.join(evenflow.run_dir(), "detector.yaml")
    with open(config, "w", encoding="utf-8") as out:
        out.write(DETECTOR)
    net, servers, lines = evenflow.network(evenflow.PaperTopo(), program=args.program, flags=["--config", config]), None, []
    try:
        net.start()
        net.controllers[0].await_network(net)
        for number, action in enumerate(("alarm", "reweight")):
            servers = imbalance.Servers(net, CASE)
            lines += run(net, action, number, args.seed, args.seconds)
            servers.stop()
            servers = None
    finally:
        with evenflow.undisturbed():
            if servers:
                servers.stop()
            net.stop()
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "reweight.csv"), "w", newline="", encoding="utf-8") as out:
        rows = csv.DictWriter(out, lines[0].keys(), lineterminator="\n")
        rows.writeheader()
        rows.writerows(lines)
    say(table(lines))
    if args.docs:
        report.write_section("reweight", table(lines))


if __name__ == "__main__":
    sys.exit(main())
