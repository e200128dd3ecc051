"""The tables and plots of experiment imbalance, from its CSV files.

    imbalance_plots.py DIR...    the files of several parts, run one by one, into the documentation
"""
import collections
import csv
import os
import statistics
import sys

import report

SERVERS = ["b1", "b2", "b3", "b4"]
TITLES = {"equal": "Four equal servers", "slow known": "b4 has half the capacity, which is known (weights 2, 2, 2, 1)",
          "slow unknown": "b4 has half the capacity, which nobody was told"}
COLOURS = {"b1": "#1b6ca8", "b2": "#d1495b", "b3": "#2e8b57", "b4": "#8a5a9e"}


def read(folders, name):
    rows = []
    for folder in folders:
        with open(os.path.join(folder, name), encoding="utf-8") as source:
            rows += csv.DictReader(source)
    return rows


def means(rows):
    """{(case, scheduler): {column: mean over seeds}}, in the order of the file."""
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault((row["case"], row["scheduler"]), []).append(row)
    columns = ["cv", "step", "f_median", "p50", "p95", "p99", "messages_per_flow", "flows", "failed"] + ["share_" + n for n in SERVERS]
    return {key: {c: statistics.fmean(float(r[c]) for r in group if r[c] != "") for c in columns} for key, group in groups.items()}


def tables(folders):
    """The text of the result: a table for each case, and what is left of the paper's claims."""
    text, of = "", means(read(folders, "imbalance.csv"))
    for case in dict.fromkeys(case for case, _ in of):
        rows = [["`%s`" % scheduler, "%.2f" % m["cv"], "%.2f" % m["step"], "%.1f" % m["f_median"], "%.2f s" % m["p50"], "%.2f s" % m["p99"],
                 "%.2f" % m["messages_per_flow"], " / ".join("%.0f" % (100 * m["share_" + n]) for n in SERVERS)]
                for (c, scheduler), m in of.items() if c == case]
        text += "%s:\n\n%s\n" % (TITLES[case], report.table(["scheduler", "CV", "step", "median F", "p50", "p99", "messages a flow", "shares of flows, %"], rows))
    rows = [["%s, roulette against %s" % (case, other), claim] + ["%+.1f %%" % (100 * (of[case, "roulette"][c] / of[case, other][c] - 1)) for c in ("cv", "step")]
            for case in dict.fromkeys(case for case, _ in of) for other, claim in (("greedy", "−18.2 %"), ("round-robin", "−34.4 %"))
            if (case, other) in of and (case, "roulette") in of]
    return text + "The fluctuation coefficient against the paper's claim:\n\n" + report.table(["case", "paper", "CV", "step"], rows)


def draw(folders, images):
    """Plots into a folder: rates over time, F over time, and a comparison."""
    pyplot = report.plotting()
    rates, fs, of = read(folders, "rates.csv"), read(folders, "f.csv"), means(read(folders, "imbalance.csv"))
    cases = list(dict.fromkeys(case for case, _ in of))
    schedulers = list(dict.fromkeys(s for _, s in of))
    seed = rates[0]["seed"]

    def grid(rows, columns, size):
        return pyplot.subplots(rows, columns, figsize=(size[0] * columns, size[1] * rows), sharex=True, sharey=True, squeeze=False, layout="constrained")

    figure, axes = grid(len(schedulers), len(cases), (3.2, 1.35))
    for i, scheduler in enumerate(schedulers):
        for j, case in enumerate(cases):
            rows = [r for r in rates if (r["case"], r["scheduler"], r["seed"]) == (case, scheduler, seed)]
            for name in SERVERS:
                axes[i][j].plot([int(r["second"]) for r in rows], [float(r[name]) for r in rows], color=COLOURS[name], linewidth=1, label=name)
            axes[i][j].set_title("%s, %s" % (scheduler, case), fontsize=8)
    axes[0][0].legend(fontsize=7, ncols=4, frameon=False, loc="upper right")
    figure.supxlabel("second", fontsize=9)
    figure.supylabel("Mbit/s of a server's port", fontsize=9)
    report.save(figure, os.path.join(images, "imbalance_rates.svg"))

    figure, axes = grid(1, len(cases), (3.4, 2.6))
    for i, case in enumerate(cases):
        for scheduler in schedulers:
            rows = [r for r in fs if (r["case"], r["scheduler"], r["seed"]) == (case, scheduler, seed) and r["f"]]
            axes[0][i].plot([int(r["test"]) for r in rows], [float(r["f"]) for r in rows], linewidth=1, label=scheduler)
        axes[0][i].axhline(3.24, color="black", linestyle=":", linewidth=0.8)  # F(3, 16) at .05
        axes[0][i].set_yscale("log")
        axes[0][i].set_title(case, fontsize=8)
    axes[0][0].set_ylabel("F of 5 samples (dotted: level .05)", fontsize=8)
    axes[0][-1].legend(bbox_to_anchor=(1.02, 1), loc="upper left", fontsize=7, frameon=False)
    report.save(figure, os.path.join(images, "imbalance_f.svg"))

    figure, axes = pyplot.subplots(2, 2, figsize=(9, 5.2), layout="constrained")
    width = 0.8 / len(cases)
    for axis, (column, title) in zip(axes.flat, (("cv", "fluctuation: sd over time / mean"), ("step", "fluctuation: mean step / mean"),
                                                 ("messages_per_flow", "control messages a flow"), ("p99", "response time, 99th percentile, s"))):
        for i, case in enumerate(cases):
            axis.bar([j + i * width for j in range(len(schedulers))], [of[case, s][column] for s in schedulers], width, label=case)
        axis.set_xticks([j + 0.4 - width / 2 for j in range(len(schedulers))])
        axis.set_xticklabels(schedulers, rotation=35, ha="right", fontsize=7)
        axis.set_title(title, fontsize=8)
    axes[1][1].set_yscale("log")
    axes[0][0].legend(fontsize=7, frameon=False)
    report.save(figure, os.path.join(images, "imbalance.svg"))


def document(folders):
    """Write the section of docs/experiments.md and its plots anew."""
    draw(folders, report.IMAGES)
    report.write_section("imbalance", tables(folders))


if __name__ == "__main__":
    document(sys.argv[1:])
