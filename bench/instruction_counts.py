"""Instructions that an instance takes, counted by Callgrind: instruction_counts.py --command MANYFOLD [--update | --sample].

Times are noisy on shared machines; counts are not. Each case is run with two numbers of instances, whose difference leaves
out what a run takes once. Kernels are those for AVX2, which Valgrind knows but for one form of vmovq (3.19): where the
compiler happens to take that, a case is counted with those for any processor. Counts that differ from those in
results/instruction-counts.json by more than 3 % end with exit code 1; --update writes the new ones.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from measured_sweep import write_sweep

COUNTS = pathlib.Path(__file__).resolve().parent / "results/instruction-counts.json"
MOST_CHANGE = 0.03

END = 'times = "end"'
STATISTICS = 'times = 81\ntrajectories = false\nstatistics = ["mean", "std", "min", "max"]\nreduce = ["max(y1)"]'
# Name, model, method, parameter and its range, output, instruction set, and the smaller number of instances; the larger
# is three times it.
CASES = [
    ("robertson radau5", "robertson", "radau5", "k1", 0.036, 0.044, END, "avx2", 64),
    ("robertson radau5, statistics", "robertson", "radau5", "k1", 0.036, 0.044, STATISTICS, "avx2", 64),
    ("pendulum rodas5p", "pendulum", "rodas5p", "g", 12.0, 14.0, END, "avx2", 32),
    ("transistor_amplifier radau5", "transistor_amplifier", "radau5", "R0", 900.0, 1100.0, END, "avx2", 8),
    ("bouncing_ball esdirk54", "bouncing_ball", "esdirk54", "restitution", 0.85, 0.92, END, "baseline", 16),
]


def run(command, folder, case, instances, counted):
    """One run of a case; the instructions it took, if they are counted."""
    _, model, method, parameter, low, high, output, isa, _ = case
    write_sweep(folder, model, method, parameter, low, high, instances, output)
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] if counted else []
    ended = subprocess.run(tool + [command, "run", "sweep.toml", "--force"], cwd=folder, capture_output=True, text=True,
                           env=os.environ | {"MANYFOLD_ISA": isa})
    if ended.returncode != 0:
        sys.exit(f"{case[0]}: {ended.stderr}")
    return int(re.search(r"Collected : (\d+)", ended.stderr).group(1)) if counted else 0


def main():
    parser = argparse.ArgumentParser(description="Instructions that an instance takes.")
    parser.add_argument("--command", required=True, type=os.path.abspath)
    parser.add_argument("--update", action="store_true", help="write the counts that others are compared with")
    parser.add_argument("--sample", action="store_true", help="every other case")
    arguments = parser.parse_args()
    if arguments.update and arguments.sample:
        parser.error("--update takes all cases")
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    counts = {}
    changed = False
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES[::2] if arguments.sample else CASES:
            run(arguments.command, folder, case, 1, counted=False)  # compiles the kernel
            few = case[-1]
            both = [run(arguments.command, folder, case, instances, counted=True) for instances in (few, 3 * few)]
            count = counts[case[0]] = round((both[1] - both[0]) / (2 * few))
            old = before.get(case[0])
            change = count / old - 1 if old else float("inf")
            changed = changed or abs(change) > MOST_CHANGE
            print(f"{case[0]:32} {count:9} instructions per instance" + (f", {change:+.1%}" if old else ""))
    if arguments.update:
        COUNTS.write_text(json.dumps(counts, indent=2) + "\n")
    elif changed:
        sys.exit(f"more than {MOST_CHANGE:.0%} off {COUNTS.name}: script/bench --instructions --update, if that is meant")


if __name__ == "__main__":
    main()
