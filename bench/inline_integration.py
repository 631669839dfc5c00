"""What inline integration saves: inline_integration.py --command MANYFOLD [--instances N] [--rounds K] [PROBLEM ...].

Each .mo problem with esdirk54 as it is reduced ("plain"), with the stages inlined, and its hand-written twin. Processor
time of an instance is the difference between two numbers of instances over their difference, so that what a run takes once
is left out; the variants alternate, and the median of the rounds counts. Tolerances are the same. The twin has an error
test of all its variables, the reduced model one of its states and tearing variables.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

from measured_sweep import write_sweep

ROOT = pathlib.Path(__file__).resolve().parent.parent
# With a parameter to vary by one per cent, and how many times as many instances measure a cheap one.
PROBLEMS = {"transistor_amplifier": ("R1", 1), "das2": ("A", 4), "cstr": ("F", 32), "rlc_index0": ("R1", 8),
            "rlc_index1": ("R1", 32), "rlc_index2": ("R1", 32), "van_der_pol": ("mu", 4)}


def described(command, arguments):
    return json.loads(subprocess.run([command, *arguments, "--json"], capture_output=True, text=True, check=True).stdout)


def run(command, folder, model, inline, parameter, value, instances):
    """Seconds of the processor and the summary of one run."""
    low, high = sorted((0.99 * value, 1.01 * value))
    write_sweep(folder, model, "esdirk54", parameter, low, high, instances, solver=f"inline = {inline}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ended = subprocess.run([command, "run", "sweep.toml", "--force", "--json"], cwd=folder, capture_output=True, text=True,
                           env=dict(os.environ))
    if ended.returncode != 0:
        sys.exit(f"{model}: {ended.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, json.loads(ended.stdout)


def measure(command, folder, name, instances, rounds):
    """Microseconds and steps of an instance, for each variant."""
    file = ROOT / "problems" / name / f"{name}.mo"
    parameter, factor = PROBLEMS[name]
    instances *= factor
    model = described(command, ["describe", str(file)])
    value = next(one["value"] for one in model["parameters"] if one["name"] == parameter)
    variants = {"twin": (name, "false"), "plain": (file, "false"), "inlined": (file, "true")}
    few = instances // 8
    seconds = {variant: [] for variant in variants}
    steps = {}
    for round_ in range(rounds + 1):
        for variant, (path, inline) in variants.items():
            short, _ = run(command, folder, path, inline, parameter, value, few)
            long, summary = run(command, folder, path, inline, parameter, value, instances)
            steps[variant] = summary["steps_total"] / instances
            if round_ > 0:  # the first one compiles
                seconds[variant].append((long - short) / (instances - few))
    return {variant: (1e6 * statistics.median(seconds[variant]), steps[variant]) for variant in variants}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True)
    parser.add_argument("--instances", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("problems", nargs="*", default=[*PROBLEMS])
    arguments = parser.parse_args()
    command = str(pathlib.Path(arguments.command).resolve())
    print("| problem | equations | Newton, reduced | Newton, inlined | twin, us | plain, us | inlined, us | plain/inlined "
          "| twin/inlined | steps: twin, plain, inlined |\n|---|---|---|---|---|---|---|---|---|---|")
    gains = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.problems:
            sizes = described(command, ["compile", str(ROOT / "problems" / name / f"{name}.mo")])
            found = measure(command, folder, name, arguments.instances, arguments.rounds)
            (twin, of_twin), (plain, of_plain), (inlined, of_inlined) = found["twin"], found["plain"], found["inlined"]
            gains.append(plain / inlined)
            print(f"| {name} | {sizes['equations']} | {sizes['newton_dimension_reduced']} | "
                  f"{sizes['newton_dimension_inlined']} | {twin:.1f} | {plain:.1f} | {inlined:.1f} | {plain / inlined:.2f} | "
                  f"{twin / inlined:.2f} | {of_twin:.0f}, {of_plain:.0f}, {of_inlined:.0f} |", flush=True)
    print(f"\nGeometric mean of plain/inlined: {statistics.geometric_mean(gains):.2f}")


if __name__ == "__main__":
    main()
