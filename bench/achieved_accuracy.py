#!/usr/bin/env python3
"""Achieved against asked accuracy, over problems, methods and tolerances: rows of bench/results/achieved-accuracy.tsv."""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOLERANCES = ["1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10"]
METHODS = ["auto", "radau5", "radau9", "radau", "lobatto6", "esdirk54", "esdirk43", "sdirk4", "dirka", "rodas5p", "rodas4",
           "rodas3", "bdf", "dopri54"]
# Problem, methods, tolerances: few kernels, every family, index 1 to 3, events.
SAMPLE = [("robertson", ["radau5", "bdf"]), ("thermostat", ["auto"]), ("pendulum_index2", ["radau5"]),
          ("pendulum_index3", ["radau9"])]
SAMPLE_TOLERANCES = ["1e-4", "1e-7"]
# In place of 5 %: with that much many transistors have a current gain above one, and no solution up to the end.
PERTURBATIONS = {"transistor_amplifier": 0.005}
COLUMNS = ["problem", "method", "rtol", "verdict", "nominal", "median", "largest", "verified", "uncertain", "inaccurate",
           "failed", "everywhere", "steps", "taken", "references", "worst_variable", "seconds"]
LEAST, MOST = 0.01, 30.0


def read(path):
    """Rows of the table by problem, method and tolerance."""
    rows = {}
    if os.path.exists(path):
        with open(path) as table:
            header = None
            for line in table:
                if line.startswith("#"):
                    continue
                fields = line.rstrip("\n").split("\t")
                if header is None:
                    header = fields
                elif len(fields) == len(header):
                    row = dict(zip(header, fields))
                    rows[row["problem"], row["method"], row["rtol"]] = row
    return rows


def write(path, rows, order):
    """The whole table, in one step."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".partial", "w") as table:
        table.write("# script/verify: errors in units of atol + rtol |y| (times h^(index - 1)), atol = rtol / 1000;\n"
                    "# of the nominal instance, the median and the largest of all; see docs/verify.md\n")
        table.write("\t".join(COLUMNS) + "\n")
        for key in sorted(rows, key=order):
            table.write("\t".join(str(rows[key].get(column, "")) for column in COLUMNS) + "\n")
    os.replace(path + ".partial", path)


def figure(value):
    return "inf" if value is None else f"{value:.3g}"


def with_references(tolerances):
    """Tolerances that share references, which have a thousandth of the smallest. At index 2 and 3 no method reaches a
    thousandth of 1e-10, and all tolerances would be without references."""
    loose = [rtol for rtol in tolerances if float(rtol) >= 1e-6]
    return ([loose] if loose else []) + [[rtol] for rtol in tolerances if float(rtol) < 1e-6]


def rows_of(problem, method, tolerances, arguments):
    """Runs the command for one problem and method."""
    begin = time.monotonic()
    command = [arguments.command, "verify", problem, "--method", method, "--rtol", ",".join(tolerances), "--instances",
               str(arguments.instances), "--perturb", str(PERTURBATIONS.get(problem, 0.05)), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        return [{"rtol": rtol, "verdict": "timeout", "seconds": arguments.timeout} for rtol in tolerances]
    if done.returncode == 2:
        reason = done.stderr.strip().splitlines()[-1]
        return [{"rtol": rtol, "verdict": "refused", "worst_variable": reason} for rtol in tolerances]
    if done.returncode not in (0, 3):
        raise SystemExit(f"script/verify: {' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    seconds = (time.monotonic() - begin) / len(tolerances)
    rows = []
    for rtol, result in zip(tolerances, json.loads(done.stdout)["results"]):
        scaled = [(math.inf if variable["largest"] is None else variable["largest"] / variable["limit"], variable["name"])
                  for variable in result["variables"]]
        rows.append({"rtol": rtol, "verdict": result["verdict"], "nominal": figure(result["error"]["first"]),
                     "median": figure(result["error"]["median"]), "largest": figure(result["error"]["largest"]),
                     **{name: result["by_verdict"].get(name, 0)
                        for name in ("verified", "uncertain", "inaccurate", "failed")},
                     "everywhere": result["failed_everywhere"], "steps": result["steps"], "taken": result["method"], "references": " ".join(result["references"]),
                     "worst_variable": max(scaled)[1], "seconds": f"{seconds:.2f}"})
    return rows


def summary(rows):
    """Prints how many entries lie where they should; returns whether none is wrong or fails alone."""
    entries = [row for row in rows if row["verdict"] not in ("refused", "timeout")]
    figures = [(float(row["median"]), row) for row in entries if row.get("median") not in ("", None, "inf")]
    inside = [row for value, row in figures if LEAST <= value <= MOST]
    below = sum(value < LEAST for value, row in figures)
    above = [row for value, row in figures if value > MOST]
    refused = sum(row["verdict"] == "refused" for row in rows)
    print(f"{len(rows)} entries, {refused} refused by the table of methods, "
          f"{sum(row['verdict'] == 'timeout' for row in rows)} not finished in time")
    for verdict in ("verified", "uncertain", "inaccurate", "failed"):
        print(f"  {sum(row['verdict'] == verdict for row in entries):>6} {verdict}")
    if figures:
        print(f"median error / tolerance from {LEAST:g} to {MOST:g}: {len(inside)} of {len(entries)} entries "
              f"({100.0 * len(inside) / len(entries):.1f} %); {below} below, {len(above)} above, "
              f"{len(entries) - len(figures)} without a figure")
    for row in sorted(above, key=lambda row: -float(row["median"]))[:40]:
        print(f"  above: {row['problem']} {row['method']} {row['rtol']}: {row['median']} ({row['worst_variable']})")
    # What fails in the references too has no solution that anybody knows.
    bad = [row for row in entries if int(row["inaccurate"]) > 0 or int(row["failed"]) > int(row["everywhere"])]
    for row in bad:
        print(f"  {row['verdict']}: {row['problem']} {row['method']} {row['rtol']}: largest {row['largest']} "
              f"({row['worst_variable']}); {row['inaccurate']} inaccurate, {row['failed']} failed, {row['everywhere']} of "
              "them in the references too")
    return not bad


def page(rows, known):
    """Renews the table of docs/accuracy.md: for each problem and method the least and the largest, over the tolerances,
    of the median error in tolerances."""
    methods = [method for method in METHODS if any(row["method"] == method for row in rows)]
    lines = ["| problem | " + " | ".join(f"`{method}`" for method in methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for problem in known:
        cells = []
        for method in methods:
            own = [row for row in rows if (row["problem"], row["method"]) == (problem, method)]
            figures = [float(row["median"]) for row in own if row.get("median") not in ("", None, "inf")]
            if not own:
                cells.append("")
            elif all(row["verdict"] == "refused" for row in own):
                cells.append("no")
            elif not figures:
                cells.append("fails")
            else:
                cells.append(f"{min(figures):.2g}..{max(figures):.2g}")
        if any(cells):
            lines.append(f"| {problem} | " + " | ".join(cells) + " |")
    path = os.path.join(ROOT, "docs", "accuracy.md")
    with open(path) as text:
        before, _, rest = text.read().partition("<!-- accuracy -->\n")
    with open(path, "w") as text:
        text.write(before + "<!-- accuracy -->\n" + "\n".join(lines) + "\n<!-- end -->" + rest.partition("<!-- end -->")[2])


def duration(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes // 60} h {minutes % 60:02} min" if minutes >= 60 else f"{minutes} min {seconds:02} s"


def main():
    parser = argparse.ArgumentParser(
        prog="script/verify", description="Verifies every problem of the repository, nominal and perturbed, over methods and "
        "tolerances. Rows that the table already has are not computed again.",
        epilog="Exit codes: 0 all entries verified or uncertain, 3 some are inaccurate or fail where references do not, 2 misuse.")
    parser.add_argument("--problem", action="append", help="one of the built-in models, or a model file; default: all")
    parser.add_argument("--method", action="append", help=f"default: {' '.join(METHODS)}")
    parser.add_argument("--rtol", action="append", help=f"default: {' '.join(TOLERANCES)}")
    parser.add_argument("--instances", type=int, default=200, help="perturbed instances, beside the nominal (200)")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for a problem and a method (1800)")
    parser.add_argument("--jobs", type=int, default=2, help="problems at a time (2)")
    parser.add_argument("--table", default=os.path.join(ROOT, "bench", "results", "achieved-accuracy.tsv"))
    parser.add_argument("--fresh", action="store_true", help="compute all rows that are asked for again")
    parser.add_argument("--summary", action="store_true", help="only sum up the table")
    parser.add_argument("--page", action="store_true", help="renew the table of docs/accuracy.md from the table")
    parser.add_argument("--sample", action="store_true", help="the fixed sample of the tests, without a table")
    parser.add_argument("--command", default=os.path.join(ROOT, "build", "release", "manyfold"))
    arguments = parser.parse_args()

    if arguments.summary:
        sys.exit(0 if summary(list(read(arguments.table).values())) else 3)
    listed = subprocess.run([arguments.command, "list", "--json"], capture_output=True, text=True, check=True)
    known = [model["name"] for model in json.loads(listed.stdout)]
    if arguments.page:
        page(list(read(arguments.table).values()), known)
        sys.exit(0)
    if arguments.sample:
        arguments.instances = min(arguments.instances, 10)
        work = [(problem, method, SAMPLE_TOLERANCES) for problem, methods in SAMPLE for method in methods]
        rows = {}
    else:
        work = [(problem, method, arguments.rtol or TOLERANCES) for problem in arguments.problem or known
                for method in arguments.method or METHODS]
        rows = read(arguments.table)
        if arguments.fresh:
            for problem, method, tolerances in work:
                for rtol in tolerances:
                    rows.pop((problem, method, rtol), None)
    methods = METHODS + (arguments.method or [])

    def order(key):
        problem, method, rtol = key
        return (known.index(problem) if problem in known else len(known), problem,
                methods.index(method) if method in methods else len(methods), method, -float(rtol))

    left = [(problem, method, [rtol for rtol in tolerances if (problem, method, rtol) not in rows])
            for problem, method, tolerances in work]
    left = [item for item in left if item[2]]
    total = sum(len(tolerances) for _, _, tolerances in left)
    print(f"{total} rows to compute, {len(rows)} in the table", file=sys.stderr)
    begin = time.monotonic()
    finished = 0
    lock = threading.Lock()

    def compute(problem):
        nonlocal finished
        for method, tolerances in [item[1:] for item in left if item[0] == problem]:
            found = [row for group in with_references(tolerances) for row in rows_of(problem, method, group, arguments)]
            with lock:
                for row in found:
                    row.update(problem=problem, method=method)
                    rows[problem, method, row["rtol"]] = row
                finished += len(tolerances)
                if not arguments.sample:
                    write(arguments.table, rows, order)
                so_far = time.monotonic() - begin
                verdicts = " ".join(row["verdict"] for row in found)
                print(f"[{finished}/{total}, {duration(so_far)}, {duration(so_far / finished * (total - finished))} left] "
                      f"{problem} {method}: {verdicts}", file=sys.stderr)

    # One at a time of the same problem: its methods share references, which are compiled once.
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for done in [pool.submit(compute, problem) for problem in dict.fromkeys(item[0] for item in left)]:
            done.result()
    chosen = [rows[problem, method, rtol] for problem, method, tolerances in work for rtol in tolerances]
    sys.exit(0 if summary(chosen) else 3)


if __name__ == "__main__":
    main()
