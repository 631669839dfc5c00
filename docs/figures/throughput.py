"""Draws throughput against achieved error, as script/bench measured them, into the file that is named.

bench/results/throughput-packages.json is of `script/bench --python --json`.
"""

import json
import pathlib
import sys

import matplotlib
import matplotlib.pyplot as plt

RESULTS = pathlib.Path(__file__).parents[2] / "bench" / "results"
TITLES = {"robertson": "Robertson, n = 3", "pendulum": "pendulum, n = 5", "transistor_amplifier": "transistor amplifier, n = 8"}
# Every solver has its look in all panels.
LOOKS = {
    "manyfold auto": ("manyfold, auto", "C3", "o"),
    "casadi": ("CasADi IDAS", "C1", "^"),
    "diffrax": ("diffrax, as an ODE", "C2", "v"),
    "heyoka": ("heyoka, as an ODE", "C4", "D"),
    "sundae": ("scikit-sundae IDA", "C5", "x"),
}


def curves_of(problem):
    """(solver, errors, instances per second and core) of a problem."""
    rows = json.loads((RESULTS / "throughput-packages.json").read_text())["rows"]
    for solver in LOOKS:
        own = [row for row in rows if row["problem"] == problem and row["solver"] == solver and 2 * row["failed"] < row["instances"]]
        if own:
            yield solver, [row["error"] for row in own], [row["instances"] / row["seconds"] for row in own]


def main():
    matplotlib.rc_file(pathlib.Path(__file__).with_name("matplotlibrc"))
    figure, panels = plt.subplots(1, len(TITLES), figsize=(10, 3.8), sharey=True)
    handles = {}
    for panel, (problem, title) in zip(panels, TITLES.items()):
        for solver, errors, rates in curves_of(problem):
            label, color, marker = LOOKS[solver]
            handles[solver] = panel.loglog(errors, rates, color=color, marker=marker, markersize=4, label=label)[0]
        panel.set(title=title, xlabel="median error", xlim=(3e-3, 1e-9))
    panels[0].set_ylabel("instances per second and core")
    figure.legend(handles=[handles[solver] for solver in LOOKS if solver in handles], loc="outside lower center", ncols=3)
    figure.savefig(sys.argv[1], metadata={"Date": None})


main()
