#!/usr/bin/python3
"""What it costs to keep 100,000 live connections when a 17th backend is added to 16, by how they are kept.

Mode `othello` pins the connections that the change displaces, in cells. Beside it: a
rule for each displaced connection, an Othello of all connections, a rule for each
connection, and the table of codes alone, which keeps none. Each is put into a fresh
Open vSwitch in one bundle: rules, bytes to the switch, time, the daemon's processor
time and memory; then the first packets of connections are timed.

The connections are made up; the packets are real. The measurement is the Go test
TestHundredThousandStates (build tag soak) of apps/othello, which makes the rules as the
controller does. Writes pins.csv and pins.svg into a folder; with --docs it writes the
plot and the table of docs/experiments.md anew.
"""
import csv
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
# pylint: disable=wrong-import-position
import report

WAYS = {
    "the table alone": "the table of codes alone: 1 in 17 breaks",
    "pins in cells": "mode `othello`: pins of the displaced, in cells",
    "a rule for each displaced": "a rule for each displaced connection",
    "an Othello of all": "an Othello of all connections",
    "a rule for each": "a rule for each connection",
}
COLOURS = {"the table alone": "#9aa5ad", "pins in cells": "#2a6fb0", "a rule for each displaced": "#7fb0d8",
           "an Othello of all": "#e08a2e", "a rule for each": "#c0392b"}
PANELS = [("rules", "rules", 1), ("wire_bytes", "to the switch, MB", 1e-6), ("seconds", "install time, s", 1),
          ("rss_kb", "memory, MB", 1 / 1024), ("displaced_first_us", "first packet, µs", 1)]


def measure(path, seeds):
    """Runs the test, which writes the file."""
    command = ["go", "test", "-count=1", "-tags", "soak", "./apps/othello", "-run", "TestHundredThousandStates", "-timeout", "30m",
               "-csv", os.path.abspath(path), "-seeds", str(seeds)]
    subprocess.run(command, cwd=report.ROOT, check=True)


def read(path):
    """{way: {column: values, one of each seed}}."""
    out = {}
    with open(path, encoding="utf-8") as source:
        for row in csv.DictReader(source):
            columns = out.setdefault(row.pop("way"), {})
            for name, value in row.items():
                columns.setdefault(name, []).append(float(value))
    return out


def middle(columns, name):
    return statistics.median(columns[name])


def table(results):
    rows = [[WAYS[way], "{:,.0f}".format(middle(c, "rules")), "%.2f MB" % (middle(c, "wire_bytes") / 1e6),
             "%.2f s / %.2f s" % (min(c["seconds"]), middle(c, "cpu_seconds")), "%.1f MB" % (middle(c, "rss_kb") / 1024),
             "%.0f / %.0f / %.0f" % tuple(middle(c, n) for n in ("new_first_us", "displaced_first_us", "later_us"))]
            for way, c in results.items()]
    seeds = len(next(iter(results.values()))["seed"])
    displaced = middle(results["pins in cells"], "displaced")
    return ("100,000 connections, of which {:,.0f} are displaced; medians of {} seeds, of install times the quickest. Packets in µs: the first of a new "
            "connection, the first of a displaced one, any later one (p50 of 400 each, from sender to sink).\n\n".format(displaced, seeds) +
            report.table(["kept by", "rules", "to the switch", "time / processor time", "memory", "packets, µs"], rows))


def plot(results, path):
    """A panel for each measure, a bar for each way."""
    pyplot = report.plotting()
    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(11, 2.4), layout="constrained")
    for axis, (name, title, scale) in zip(axes, PANELS):
        for place, (way, columns) in enumerate(results.items()):
            value = (min if name == "seconds" else statistics.median)(columns[name]) * scale
            axis.barh(place, value, 0.7, color=COLOURS[way])
            axis.text(value, place, " {:,.0f}".format(value) if value >= 20 else " {:.2g}".format(value), va="center", fontsize=8)
        axis.set(yticks=range(len(results)), yticklabels=list(results) if axis is axes[0] else [], title=title)
        axis.margins(x=0.35)
        axis.xaxis.set_major_locator(pyplot.MaxNLocator(3))
        axis.invert_yaxis()
    report.save(figure, path)


def main():
    parser = report.arguments("What it costs to keep 100,000 live connections when a backend is added.")
    parser.add_argument("--seeds", type=int, default=3, help="how often, each time with other connections")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("it needs root")
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "pins.csv")
    measure(path, args.seeds)
    results = read(path)
    report.publish("pins", lambda path: plot(results, path), table(results), args)
    print(table(results))


if __name__ == "__main__":
    sys.exit(main())
