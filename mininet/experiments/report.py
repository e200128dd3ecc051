"""How experiments tell what they found: tables as CSV, tables in docs/experiments.md between markers of their own, and plots."""
import argparse
import csv
import os

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
DOCS = os.path.join(ROOT, "docs", "experiments.md")
IMAGES = os.path.join(ROOT, "docs", "images")


def arguments(description):
    """A parser of what all experiments are told: where their results go."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", default=os.path.join(ROOT, "bin", "experiments"), help="folder for the table and the plot")
    parser.add_argument("--docs", action="store_true", help="write docs/experiments.md and its plot anew")
    return parser


def table(head, rows):
    """A table in Markdown."""
    return "\n".join("| %s |" % " | ".join(str(cell) for cell in row) for row in [head, ["---"] * len(head)] + rows) + "\n"


def write_csv(results, folder, name):
    """Results of one named tuple as a table in a file, its fields above it."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="ascii", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(results[0]._fields)
        rows.writerows(results)


def write_section(name, text, path=DOCS):
    """Put text between the markers <!-- NAME --> and <!-- end --> of a document; ValueError if they are not there."""
    with open(path, encoding="utf-8") as document:
        before, begin, rest = document.read().partition("<!-- %s -->\n" % name)
    _, end, after = rest.partition("<!-- end -->")
    if not begin or not end:
        raise ValueError("%s has no section %s" % (path, name))
    with open(path, "w", encoding="utf-8") as document:
        document.write(before + begin + text + end + after)


def plotting():
    """matplotlib's pyplot, set up to draw the same file from the same data."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "evenflow", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
                                "axes.spines.top": False, "axes.spines.right": False})
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
    return pyplot


def save(figure, path):
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def publish(name, plot, text, args):
    """What plot(path) draws goes to the folder of the arguments and, if they say so, to the documents, with the text."""
    plot(os.path.join(args.out, name + ".svg"))
    if args.docs:
        plot(os.path.join(IMAGES, name + ".svg"))
        write_section(name, text)
