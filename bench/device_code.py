"""Instructions of a step attempt on a GPU: kernels of the fused tier, as the assembler makes them for an H100, replayed.

The machine of tests/cuda/ptx executes a kernel's PTX and counts how often each line was executed. The same PTX is
assembled with the number of its line at each instruction, and disassembled: an instruction of the device counts as
often as the line that it comes from. Ways that are never gone (divisions of numbers out of range) do not count. Needs
the CUDA toolkit, no GPU; nvdisasm comes from PyPI where the toolkit has none.

Memory and latency are not replayed. `bound` is the share of the peak in double precision that is left if nothing ever
waits: a multiprocessor issues four instructions of a warp per cycle, of which two can be double precision, and the peak
counts every one of those as 32 multiplications and additions in one.

--check compares some cases with results/device-code.tsv and ends with exit code 1 if they differ by more than 3 %;
--update writes the file.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = ROOT / "bench/results/device-code.tsv"
ARCHITECTURE = "sm_90"
KERNEL = "manyfold_integrate"
MOST_CHANGE = 0.03
NOT_THERE = 77  # which ctest takes for a test that is skipped

METHODS = ("rodas5p", "radau5", "esdirk54", "bdf")
# rtol, atol, end
SWEEPS = {
    "robertson": (1e-6, 1e-9, 1e5),
    "van_der_pol": (1e-6, 1e-6, 2.0),
    "pendulum": (1e-6, 1e-6, 10.0),
    "transistor_amplifier": (1e-4, 1e-4, 0.02),
    "das1": (1e-6, 1e-6, 1.0),
    "rectifier": (1e-6, 1e-6, 0.05),
}
CHECKED = (("robertson", "rodas5p"), ("pendulum", "radau5"))
COLUMNS = ("problem", "method", "registers", "spill_bytes", "instructions", "double", "local", "flops", "lanes", "bound")

DOUBLE = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX"}
LOCAL = {"LDL", "STL"}
# Operations that PTX instructions count as: bench/roofline.cpp.
FLOPS = {"add": 1, "sub": 1, "mul": 1, "fma": 2, "div": 9, "rcp": 9, "sqrt": 11}


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


def tool(name):
    """The path of a tool of the CUDA toolkit. Of those, PyPI has nvdisasm."""
    environment = ROOT / "build/nvdisasm"
    places = [shutil.which(name), f"/usr/local/cuda/bin/{name}"]
    places += map(str, environment.glob(f"lib/python3*/site-packages/nvidia/*/bin/{name}"))
    for place in places:
        if place and os.path.exists(place):
            return place
    if name == "nvdisasm" and not environment.exists():
        made = subprocess.run([sys.executable, "-m", "venv", environment], check=False)
        if made.returncode == 0:
            subprocess.run([environment / "bin/pip", "install", "--quiet", "nvidia-cuda-nvdisasm>=13,<14"], check=False)
        return tool(name)
    print(f"device_code.py: there is no {name}, neither in the CUDA toolkit nor from PyPI (which needs python3-venv)")
    return sys.exit(NOT_THERE)


def execute(build, folder, model, method, instances):
    """Runs a sweep on the machine for PTX: its attempts, the PTX, and the rows of the kernel's counts."""
    command = os.path.join(build, "manyfold")
    if not os.path.exists(os.path.join(build, "tests", "libemulated_driver.so")):
        sys.exit(f"device_code.py: {build} has no emulated driver: build the tests there, with the CUDA toolkit")
    described = json.loads(subprocess.run([command, "describe", model, "--json"], check=True, capture_output=True).stdout)
    tests = os.path.abspath(os.path.join(build, "tests"))
    path = os.path.join(folder, "sweep.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(sweep(model, method, instances, described["parameters"]))
    counts = os.path.join(folder, "counts.tsv")
    cache = os.path.join(folder, "cache")
    environment = dict(
        os.environ,
        MANYFOLD_SOURCE=str(ROOT),
        MANYFOLD_CACHE=cache,
        MANYFOLD_CUDA_DRIVER=os.path.join(tests, "libemulated_driver.so"),
        MANYFOLD_EMULATED_PTX="1",
        MANYFOLD_EMULATED_COUNTS=counts,
    )
    run = [os.path.abspath(command), "run", path, "--out", os.path.join(folder, "result.nc"), "--json"]
    done = subprocess.run(run, capture_output=True, env=environment, text=True)
    if done.returncode != 0:
        sys.exit(f"device_code.py: {model} with {method}: {done.stderr}")
    stats = json.loads(done.stdout)["stats"]
    attempts = stats["steps"] + stats["rejected"] + stats["newton_failures"]
    with open(counts, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    modules = [path.read_bytes().rstrip(b"\0").decode() for path in pathlib.Path(cache).glob("*.device")]
    [ptx] = [module for module in modules if f".entry {KERNEL}" in module]
    return attempts, ptx, [row for row in rows if row[0] == KERNEL]


def with_line_numbers(ptx):
    """PTX whose instructions are marked with the number of their line before."""
    lines = []
    complete = True
    for number, line in enumerate(ptx.split("\n"), 1):
        code = line.split("//")[0].strip()
        if code.startswith(".target"):
            line = f".target {ARCHITECTURE}"
        if complete and re.match(r"(?:@!?%\w+\s+)?[a-z]", code):
            lines.append(f".loc 1 {number} 1")
        lines.append(line)
        if code.startswith(".address_size"):
            lines.append('.file 1 "kernel.ptx"')
        if code:
            complete = code[-1] in ";{}:"
    return "\n".join(lines)


def assemble(ptx, folder):
    """Registers, bytes spilled, and the text of the disassembled kernel."""
    source = os.path.join(folder, "kernel.ptx")
    binary = os.path.join(folder, "kernel.cubin")
    pathlib.Path(source).write_text(with_line_numbers(ptx), encoding="utf-8")
    done = subprocess.run([tool("ptxas"), "-lineinfo", f"-arch={ARCHITECTURE}", "-v", source, "-o", binary],
                          check=True, capture_output=True, text=True)
    used = re.search(rf"'{KERNEL}'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
                     done.stderr + done.stdout, re.DOTALL)
    text = subprocess.run([tool("nvdisasm"), "-g", "-c", binary], check=True, capture_output=True, text=True).stdout
    section = text[text.index(f".text.{KERNEL},"):]
    end = section.find("\t.section", 1)
    return int(used[3]), int(used[1]) + int(used[2]), section[:end] if end > 0 else section


def replayed(listing, executions):
    """Counters by opcode of a listing, for each of the two numbers by line in `executions`: of warps, of threads."""
    warps, threads = Counter(), Counter()
    line = None
    block = []  # since the last label or branch

    def settle():
        for opcode, at in block:
            if at in executions:
                warps[opcode] += executions[at][0]
                threads[opcode] += executions[at][1]
        block.clear()

    for text in listing.split("\n"):
        if place := re.match(r'\s*//## File "kernel.ptx", line (\d+)', text):
            line = int(place[1])
        elif re.match(r"\s*[.$\w]+:", text):
            settle()
            if "$__internal" in text:  # the ways through numbers out of range, of the assembler itself
                line = None
        elif instruction := re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?\w+\s+)?([A-Z]\w*)(.*)", text):
            opcode = instruction[1]
            if opcode == "NOP":
                continue
            block.append((opcode, line))
            if opcode == "CALL" and "$__internal" in instruction[2]:
                block.clear()
            elif opcode in ("BRA", "EXIT", "RET"):
                settle()
    settle()
    return warps, threads


def measure(build, model, method, instances):
    with tempfile.TemporaryDirectory() as folder:
        attempts, ptx, rows = execute(build, folder, model, method, instances)
        registers, spilled, listing = assemble(ptx, folder)
    executions = {}
    for _, line, _, *counts in rows:  # of both devices that the emulated driver has
        before = executions.get(int(line), (0, 0))
        executions[int(line)] = tuple(old + int(new) for old, new in zip(before, counts))
    warps, threads = replayed(listing, executions)
    flops = sum(FLOPS.get(opcode.split(".")[0], 0) * int(count) for _, _, opcode, _, count in rows if "f64" in opcode)
    cycles = max(sum(warps[opcode] for opcode in DOUBLE) / 2, warps.total() / 4)
    return {
        "problem": model,
        "method": method,
        "registers": registers,
        "spill_bytes": spilled,
        "instructions": round(threads.total() / attempts),
        "double": round(sum(threads[opcode] for opcode in DOUBLE) / attempts),
        "local": round(sum(threads[opcode] for opcode in LOCAL) / attempts),
        "flops": round(flops / attempts),
        "lanes": round(threads.total() / warps.total() / 32, 3),
        "bound": round(flops / (cycles * 128), 3),
    }


def check(build, instances):
    with open(RECORDED, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    recorded = {(row[0], row[1]): dict(zip(COLUMNS, row)) for row in rows[1:]}
    changed = False
    for model, method in CHECKED:
        new = measure(build, model, method, instances)
        old = recorded[model, method]
        for column in ("instructions", "double"):
            change = new[column] / int(old[column]) - 1
            changed = changed or abs(change) > MOST_CHANGE
            print(f"{model} {method}: {column} of an attempt {new[column]}, {change:+.1%}")
    if changed:
        sys.exit(f"more than {MOST_CHANGE:.0%} off {RECORDED.name}: script/bench --device-code --update, if that is meant")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="folder of the command and the tests' libraries")
    parser.add_argument("--instances", type=int, default=12288)
    parser.add_argument("--problem", choices=SWEEPS, action="append")
    parser.add_argument("--check", action="store_true", help="compare some cases with the recorded ones")
    parser.add_argument("--update", action="store_true", help="record all cases")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.build, arguments.instances)
    rows = []
    print("".join(f"{name:>13}" if k > 1 else f"{name:<22}" for k, name in enumerate(COLUMNS)))
    for model in arguments.problem or SWEEPS:
        for method in METHODS:
            row = measure(arguments.build, model, method, arguments.instances)
            rows.append(row)
            print("".join(f"{value:>13}" if k > 1 else f"{value:<22}" for k, value in enumerate(row.values())))
            sys.stdout.flush()
    if arguments.update:
        with open(RECORDED, "w", encoding="utf-8") as file:
            file.write(f"# script/bench --device-code --instances {arguments.instances}: {ARCHITECTURE}, per attempt of a thread\n")
            for row in [dict(zip(COLUMNS, COLUMNS))] + rows:
                file.write("\t".join(str(row[column]) for column in COLUMNS) + "\n")
    return None


if __name__ == "__main__":
    main()
