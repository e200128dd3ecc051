#!/usr/bin/python3
"""Plots and the table of imbalance.py's CSV files: `plots.py DIR`."""
import collections
import csv
import os
import statistics
import sys

SERVERS = ["b1", "b2", "b3", "b4"]
COLOURS = {"b1": "#1b6ca8", "b2": "#d1495b", "b3": "#2e8b57", "b4": "#8a5a9e"}


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as source:
        return list(csv.DictReader(source))


def means(rows):
    """{(case, scheduler): {column: mean over seeds}}, in the order of the file."""
    groups = collections.OrderedDict()
    for row in rows:
        groups.setdefault((row["case"], row["scheduler"]), []).append(row)
    columns = ["cv", "step", "f_median", "p50", "p95", "p99", "messages_per_flow", "flows", "failed"] + ["share_" + n for n in SERVERS]
    return {key: {c: statistics.fmean(float(r[c]) for r in group if r[c] != "") for c in columns} for key, group in groups.items()}


def table(folder):
    """The text of the result, by case."""
    lines, of = [], means(read(folder, "imbalance.csv"))
    for case in dict.fromkeys(case for case, _ in of):
        lines += ["", "| %s | cv | step | median F | p50 | p99 | messages a flow | shares of flows |" % case, "|---|---|---|---|---|---|---|---|"]
        for (c, scheduler), m in of.items():
            if c == case:
                lines.append("| %s | %.2f | %.2f | %.1f | %.2f s | %.2f s | %.2f | %s |" % (
                    scheduler, m["cv"], m["step"], m["f_median"], m["p50"], m["p99"], m["messages_per_flow"],
                    " ".join("%.0f %%" % (100 * m["share_" + n]) for n in SERVERS)))
    first = next(iter(of))[0]
    lines += ["", "roulette against:   " + "   ".join("%s: cv %+.1f %%, step %+.1f %%" % (
        other, 100 * (of[first, "roulette"]["cv"] / of[first, other]["cv"] - 1), 100 * (of[first, "roulette"]["step"] / of[first, other]["step"] - 1))
        for other in ("greedy", "round-robin") if (first, other) in of and (first, "roulette") in of)]
    return "\n".join(lines)


def draw(folder):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    rates, fs, of = read(folder, "rates.csv"), read(folder, "f.csv"), means(read(folder, "imbalance.csv"))
    cases = list(dict.fromkeys(case for case, _ in of))
    schedulers = list(dict.fromkeys(s for _, s in of))
    seed = rates[0]["seed"]

    figure, axes = pyplot.subplots(len(cases), len(schedulers), figsize=(2.3 * len(schedulers), 1.9 * len(cases)), sharex=True, sharey=True, squeeze=False)
    for i, case in enumerate(cases):
        for j, scheduler in enumerate(schedulers):
            rows = [r for r in rates if (r["case"], r["scheduler"], r["seed"]) == (case, scheduler, seed)]
            for name in SERVERS:
                axes[i][j].plot([int(r["second"]) for r in rows], [float(r[name]) for r in rows], color=COLOURS[name], linewidth=1, label=name)
            axes[i][j].set_title("%s, %s" % (scheduler, case), fontsize=7)
            axes[i][j].tick_params(labelsize=6)
    axes[0][0].legend(fontsize=6, loc="upper right")
    figure.supxlabel("second", fontsize=8)
    figure.supylabel("Mbit/s of a server's port", fontsize=8)
    save(figure, folder, "rates.png")

    figure, axes = pyplot.subplots(1, len(cases), figsize=(4 * len(cases), 2.8), sharey=True, squeeze=False)
    for i, case in enumerate(cases):
        for scheduler in schedulers:
            rows = [r for r in fs if (r["case"], r["scheduler"], r["seed"]) == (case, scheduler, seed) and r["f"]]
            axes[0][i].plot([int(r["test"]) for r in rows], [float(r["f"]) for r in rows], linewidth=1, label=scheduler)
        axes[0][i].axhline(3.24, color="black", linestyle=":", linewidth=0.8)  # F(3, 16) at .05
        axes[0][i].set_yscale("log")
        axes[0][i].set_title(case, fontsize=8)
        axes[0][i].tick_params(labelsize=6)
    axes[0][0].legend(fontsize=6)
    axes[0][0].set_ylabel("F of 5 samples (dotted: .05)", fontsize=7)
    figure.supxlabel("test, one a second", fontsize=8)
    save(figure, folder, "f.png")

    figure, axes = pyplot.subplots(1, 4, figsize=(13, 3))
    for axis, (column, title) in zip(axes, (("cv", "fluctuation: sd over time / mean"), ("step", "fluctuation: mean step / mean"),
                                            ("messages_per_flow", "control messages a flow"), ("p99", "response time, p99, s"))):
        width = 0.8 / len(cases)
        for i, case in enumerate(cases):
            axis.bar([j + i * width for j in range(len(schedulers))], [of[case, s][column] for s in schedulers], width, label=case)
        axis.set_xticks([j + 0.4 - width / 2 for j in range(len(schedulers))])
        axis.set_xticklabels(schedulers, rotation=60, ha="right", fontsize=6)
        axis.set_title(title, fontsize=8)
        axis.tick_params(axis="y", labelsize=6)
    axes[3].set_yscale("log")
    axes[0].legend(fontsize=6)
    save(figure, folder, "comparison.png")


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(os.path.join(folder, name), dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    draw(sys.argv[1])
    print(table(sys.argv[1]))
