"""What kernels of the fused tier would have to do on a GPU: their PTX is executed instruction by instruction by the
machine of tests/cuda/ptx, and counted. Needs the CUDA toolkit, no GPU.

From the counts an upper bound on the share of the peak follows that no memory, latency or scheduling is to blame for:
a multiprocessor of an H200 issues four instructions of a warp per cycle, of which two can be double precision, and the
peak counts every one of those as 32 multiplications and additions in one.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

# Instructions that a division and the like become (SASS of sm_90, the usual way through), and the operations they
# count as in bench/roofline.cpp.
EXPANSION = {"div": (16, 9), "rcp": (9, 9), "sqrt": (13, 11)}
ARITHMETIC = {"add": 1, "sub": 1, "mul": 1, "fma": 2}
# In the double-precision unit too, without a result that counts.
OTHER = {"setp", "min", "max", "cvt"}

SWEEPS = {
    "robertson": (1e-6, 1e-9, 1e5),
    "van_der_pol": (1e-6, 1e-6, 2.0),
    "pendulum": (1e-6, 1e-6, 10.0),
    "transistor_amplifier": (1e-4, 1e-4, 0.02),
}


def sweep(model, method, instances, parameters):
    rtol, atol, t_end = SWEEPS[model]
    lines = [f'model = "{model}"', f"t_span = [0.0, {t_end}]", "[solver]", f'method = "{method}"', f"rtol = {rtol}"]
    lines += [f"atol = {atol}", 'backend = "cuda"', 'tier = "fused"', "[ensemble]", f"instances = {instances}"]
    lines += ["seed = 1", "[parameters]"]
    for parameter in parameters:
        value = parameter["value"]
        # A transistor's alpha is a current gain just below one.
        if value == 0.0 or parameter["name"] == "alpha":
            continue
        low, high = sorted((0.9 * value, 1.1 * value))
        lines.append(f'{parameter["name"]} = {{distribution = "uniform", min = {low!r}, max = {high!r}}}')
    return "\n".join(lines + ["[output]", "times = 2", ""])


def measure(build, model, method, instances):
    command = os.path.join(build, "manyfold")
    if not os.path.exists(os.path.join(build, "tests", "libemulated_driver.so")):
        sys.exit(f"device_code.py: {build} has no emulated driver: build the tests there, with the CUDA toolkit")
    described = json.loads(subprocess.run([command, "describe", model, "--json"], check=True, capture_output=True).stdout)
    tests = os.path.abspath(os.path.join(build, "tests"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sweep.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(sweep(model, method, instances, described["parameters"]))
        counts = os.path.join(folder, "counts.tsv")
        environment = dict(
            os.environ,
            MANYFOLD_CUDA_DRIVER=os.path.join(tests, "libemulated_driver.so"),
            MANYFOLD_EMULATED_PTX="1",
            MANYFOLD_EMULATED_COUNTS=counts,
        )
        run = [os.path.abspath(command), "run", path, "--out", os.path.join(folder, "result.nc"), "--json"]
        done = subprocess.run(run, capture_output=True, env=environment, text=True)
        if done.returncode != 0:
            sys.exit(f"device_code.py: {model} with {method}: {done.stderr}")
        result = json.loads(done.stdout)
        with open(counts, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
    return result, [row for row in rows if row[0] == "manyfold_integrate"]


def analyse(rows):
    total = Counter()
    for _, opcode, warps, threads in rows:
        base, warps, threads = opcode.split(".")[0], int(warps), int(threads)
        total["threads"] += threads
        total["issued"] += warps
        total["local"] += warps if base in ("ld", "st") and "local" in opcode else 0
        if "f64" not in opcode or base in ("ld", "st", "mov", "selp"):
            continue
        if base in ARITHMETIC:
            total["double"] += warps
            total["flops"] += ARITHMETIC[base] * threads
            total["fused"] += warps if base == "fma" else 0
        elif base in EXPANSION:
            instructions, operations = EXPANSION[base]
            total["double"] += instructions * warps
            total["issued"] += (instructions - 1) * warps
            total["flops"] += operations * threads
        elif base in OTHER:
            total["double"] += warps
    cycles = max(total["double"] / 2, total["issued"] / 4)
    return total, total["flops"] / (cycles * 128)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="folder of the command and the tests' libraries")
    parser.add_argument("--instances", type=int, default=12288)
    parser.add_argument("--problem", choices=SWEEPS, action="append")
    arguments = parser.parse_args()
    head = ("problem", "method", "flops/attempt", "issued/attempt", "double", "fused", "local", "lanes", "bound")
    print(f"{head[0]:<22}{head[1]:<10}" + "".join(f"{name:>16}" for name in head[2:]))
    for model in arguments.problem or SWEEPS:
        for method in ("radau5", "esdirk54"):
            result, rows = measure(arguments.build, model, method, arguments.instances)
            stats = result["stats"]
            attempts = stats["steps"] + stats["rejected"] + stats["newton_failures"]
            total, bound = analyse(rows)
            plain = sum(int(row[2]) for row in rows)
            print(
                f"{model:<22}{method:<10}{total['flops'] / attempts:>16.0f}{32 * total['issued'] / attempts:>16.0f}"
                f"{total['double'] / total['issued']:>16.1%}{total['fused'] / total['double']:>16.1%}"
                f"{total['local'] / total['issued']:>16.1%}{total['threads'] / plain / 32:>16.1%}{bound:>16.1%}"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
