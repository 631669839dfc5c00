"""Draws the stability pictures from the data of bench/experiments/stability.cpp: draw.py DATA FOLDER."""

import json
import math
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def draw(name, methods, folder):
    figure, (domain, damping) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for index, method in enumerate(methods):
        color = f"C{index}"
        left, right, top = method["window"]
        rows = method["log10"]
        x = [left + (right - left) * k / (len(rows[0]) - 1) for k in range(len(rows[0]))]
        y = [top * k / (len(rows) - 1) for k in range(len(rows))]
        domain.contour(x, y, rows, levels=[0.0], colors=color)
        domain.contour(x, [-v for v in y], rows, levels=[0.0], colors=color)
        damping.loglog(method["axis"], method["damping"], color=color, label=method["name"])
    domain.axhline(0.0, color="grey", linewidth=0.5)
    domain.axvline(0.0, color="grey", linewidth=0.5)
    domain.set(xlabel="Re z", ylabel="Im z", title="|R(z)| = 1", aspect="equal")
    axis = methods[0]["axis"]
    damping.loglog(axis, [max(math.exp(-v), 1e-12) for v in axis], "k:", label="exp")
    damping.set(xlabel="-z", ylabel="|R(z)|", title="damping on the negative real axis", ylim=(1e-9, 1e3 if name == "explicit" else 3))
    damping.legend(fontsize="small")
    figure.savefig(f"{folder}/stability-{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main():
    matplotlib.rcParams["svg.hashsalt"] = "manyfold"
    with open(sys.argv[1]) as file:
        methods = json.load(file)
    names = list(dict.fromkeys(method["figure"] for method in methods))
    for name in names:
        draw(name, [method for method in methods if method["figure"] == name], sys.argv[2])


main()
