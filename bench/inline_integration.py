"""What the model compiler saves: inline_integration.py --command MANYFOLD [--method METHOD] [--instructions] [PROBLEM ...].

Each .mo problem as it is reduced ("plain"), with the stages inlined where the method has such, and its hand-written twin.
Processor time of an instance is the difference between two numbers of instances over their difference, so that what a run
takes once is left out; the variants alternate, and the median of the rounds counts. With --instructions Callgrind counts
instructions in place of time, in thousands, of kernels for AVX2: they do not depend on what else the machine does, but a
division counts as one. Tolerances are the same. The twin has an error test of all its variables, the reduced model one of
its states and tearing variables.
"""

import argparse
import json
import os
import pathlib
import re
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


def run(arguments, folder, model, inline, parameter, value, instances):
    """Seconds of the processor, or thousands of instructions, and steps of one run."""
    low, high = sorted((0.99 * value, 1.01 * value))
    write_sweep(folder, model, arguments.method, parameter, low, high, instances, solver=f"inline = {inline}")
    counts = arguments.instructions
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] if counts else []
    environment = os.environ | ({"MANYFOLD_ISA": "avx2"} if counts else {})
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ended = subprocess.run([*tool, arguments.command, "run", "sweep.toml", "--force", "--json"], cwd=folder,
                           capture_output=True, text=True, env=environment)
    if ended.returncode != 0:
        sys.exit(f"{model}: {ended.stderr}")
    cost = (1e-3 * int(re.search(r"Collected : (\d+)", ended.stderr).group(1)) if counts else
            1e6 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before))
    return cost, json.loads(ended.stdout)["steps_total"] / instances


def measure(arguments, folder, name, inlines):
    """Cost and steps of an instance, for each variant."""
    file = ROOT / "problems" / name / f"{name}.mo"
    parameter, factor = PROBLEMS[name]
    instances = 48 if arguments.instructions else arguments.instances * factor
    model = described(arguments.command, ["describe", str(file)])
    value = next(one["value"] for one in model["parameters"] if one["name"] == parameter)
    variants = {"twin": (name, "false"), "plain": (file, "false")} | ({"inlined": (file, "true")} if inlines else {})
    few = instances // 3 if arguments.instructions else instances // 8
    costs = {variant: [] for variant in variants}
    steps = {}
    for round_ in range((0 if arguments.instructions else arguments.rounds) + 1):
        for variant, (path, inline) in variants.items():
            run(arguments, folder, path, inline, parameter, value, 1)  # compiles
            short, _ = run(arguments, folder, path, inline, parameter, value, few)
            long, steps[variant] = run(arguments, folder, path, inline, parameter, value, instances)
            if round_ > 0 or arguments.instructions:  # the first one warms up
                costs[variant].append((long - short) / (instances - few))
    return {variant: (statistics.median(costs[variant]), steps[variant]) for variant in variants}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, type=os.path.abspath)
    parser.add_argument("--method", default="esdirk54")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--instances", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("problems", nargs="*", default=[*PROBLEMS])
    arguments = parser.parse_args()
    inlines = "dirk" in arguments.method
    ratios = ["twin/plain", *(["plain/inlined", "twin/inlined"] if inlines else [])]
    variants = ["twin", "plain", *(["inlined"] if inlines else [])]
    columns = ["problem", "equations", "Newton, reduced", "Newton, inlined", *variants, *ratios, "steps: " + ", ".join(variants)]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    found_ratios = {ratio: [] for ratio in ratios}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.problems:
            sizes = described(arguments.command, ["compile", str(ROOT / "problems" / name / f"{name}.mo")])
            found = measure(arguments, folder, name, inlines)
            for ratio in ratios:
                above, below = ratio.split("/")
                found_ratios[ratio].append(found[above][0] / found[below][0])
            row = [name, sizes["equations"], sizes["newton_dimension_reduced"], sizes["newton_dimension_inlined"],
                   *(f"{found[variant][0]:.1f}" for variant in variants),
                   *(f"{found_ratios[ratio][-1]:.2f}" for ratio in ratios),
                   ", ".join(f"{found[variant][1]:.0f}" for variant in variants)]
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
    for ratio in ratios:
        print(f"\nGeometric mean of {ratio}: {statistics.geometric_mean(found_ratios[ratio]):.2f}")


if __name__ == "__main__":
    main()
