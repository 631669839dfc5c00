"""Runs the examples of the documentation in a folder of their own: run.py --command MANYFOLD [--figures FOLDER].

Each example is what its page says: Python before, sweeps, Python after. What a script prints must be what the page shows,
but for the last digits, which depend on the processor. Scripts need xarray, netCDF4 and matplotlib; script/docs installs
them in build/docs-environment. Where they are missing the sweeps are run alone. --figures keeps the pictures.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent
ROOT = EXAMPLES.parent.parent

# Name, page, sweeps with their exit codes, script, picture and its name in docs/figures.
FIRST = ("first picture", "index.md", [("../problems/robertson/robertson.toml --out build/robertson.nc", 0)],
         "first_picture.py", "build/y2.svg", "first-picture.svg")
TASKS = [
    FIRST,
    ("yield", "yield.md", [("yield.toml", 0)], "yield.py", "yield.svg", "yield.svg"),
    ("probability", "probability.md", [("probability.toml", 0)], "probability.py", "probability.svg",
     "probability.svg"),
    ("fan chart", "fan-chart.md", [("fan.toml", 0)], "fan.py", "fan.svg", "fan-chart.svg"),
    ("correlated inputs", "correlated-inputs.md", [("correlated.toml", 0), ("independent.toml", 0)], "correlated.py",
     "correlated.svg", "correlated-inputs.svg"),
    ("failures", "failures.md", [("failures.toml", 3), ("safe.toml", 0)], "failures.py", "failures.svg",
     "failures.svg"),
    ("modelica", "modelica.md", [("charger.toml", 0)], "charger.py", "charger.svg", "charger.svg"),
]

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def interpreter():
    """A Python with the packages, or None."""
    for candidate in [ROOT / "build/docs-environment/bin/python", sys.executable]:
        try:
            test = subprocess.run([candidate, "-c", "import xarray, netCDF4, matplotlib"], capture_output=True)
        except OSError:
            continue
        if test.returncode == 0:
            return str(candidate)
    return None


def alike(shown, printed):
    """Equal words, and numbers that agree to half a percent or one in the last digit."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    for a, b in zip(NUMBER.findall(shown), NUMBER.findall(printed)):
        unit = 10.0 ** -len(a.partition(".")[2]) if "e" not in a else 0.0
        if abs(float(a) - float(b)) > max(5e-3 * abs(float(a)), 1.5 * unit):
            return False
    return True


def shown_output(page, script):
    """The block of the page that says what the script prints, or None."""
    text = (ROOT / "docs" / page).read_text()
    block = re.search(rf'^```text title="output of {re.escape(script)}"\n(.*?)^```$', text, re.S | re.M)
    return block and block.group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="the manyfold command")
    parser.add_argument("--figures", help="folder that gets the pictures")
    arguments = parser.parse_args()
    command = str(pathlib.Path(arguments.command).resolve())
    python = interpreter()
    if python is None:
        if arguments.figures:
            sys.exit("run.py: pictures need Python with xarray, netCDF4 and matplotlib: script/docs installs them")
        print("scripts are left out: there is no Python with xarray, netCDF4 and matplotlib; script/docs installs them")
    problems = []
    with tempfile.TemporaryDirectory() as name:
        # The examples lie in a folder as in the repository, so that paths are those of the pages.
        folder = pathlib.Path(name) / "docs"
        shutil.copytree(EXAMPLES, folder)
        shutil.copytree(ROOT / "problems/robertson", folder.parent / "problems/robertson")
        (folder / "build").mkdir()
        environment = dict(os.environ, MPLBACKEND="svg", SOURCE_DATE_EPOCH="0",
                           MATPLOTLIBRC=str(ROOT / "docs/figures/matplotlibrc"))

        def execute(what, expected, *words):
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
            if done.returncode != expected:
                problems.append(f"{what}: exit code {done.returncode} in place of {expected}\n{done.stderr}")
            return done.stdout

        if python:
            execute("table.py", 0, python, "table.py")
        else:
            for table in ["correlated.csv", "independent.csv"]:
                (folder / table).write_text("k,E\n0.031,80000\n0.03,79000\n")
        for example, page, sweeps, script, picture, figure in TASKS:
            for sweep, code in sweeps:
                execute(sweep, code, command, "run", *sweep.split())
            if python is None:
                continue
            printed = execute(script, 0, python, script)
            shown = shown_output(page, script)
            if printed and shown is None:
                problems.append(f"{page} does not show what {script} prints:\n{printed}")
            elif printed and not alike(shown, printed):
                problems.append(f"{page} shows\n{shown}but {script} prints\n{printed}")
            if not (folder / picture).is_file():
                problems.append(f"{script} leaves no {picture}")
            elif arguments.figures:
                # Lines end in blanks where matplotlib breaks paths.
                lines = (folder / picture).read_text().splitlines()
                (pathlib.Path(arguments.figures) / figure).write_text("\n".join(line.rstrip() for line in lines) + "\n")
            print(f"{example}: run")
    for problem in problems:
        print(f"run.py: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
