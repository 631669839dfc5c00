"""What a machine with a GPU says of a bundle, in three stages: gpu_evidence.py 1|2|3 [--out FOLDER].

A stage is a list of steps. Each has a time limit of its own and no step may outlast the stage, which ends within nine
minutes: such machines are lent for minutes. What a step prints goes to stageN.log, what came of it to stageN.json, which is
written after every step, so that a stage that is cut off leaves what it had. A step that fails does not keep the next ones
from running, except for the smoke test.
"""

import argparse
import contextlib
import csv
import datetime
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLKIT = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
STAGE_SECONDS = 520
# A step that began with less could only time out.
LEAST_SECONDS = 1
# Bytes of a step's output that the log keeps: sanitizers can print without end.
MOST_OUTPUT = 1 << 20
# Of tests that failed, in the table; the JSON has all.
MOST_NAMES = 10

SMOKE = "*/robertson_radau5*"
# Small ensembles over a short span, by threads, by tiles, with events, and of the phased tier.
SANITIZED = ":".join("*AFailing*/" + name for name in (
    "robertson_radau5", "robertson_radau5_tile2", "rectifier_radau5", "robertson_radau5_phased"))
BENCHMARKS = ["robertson", "pendulum", "transistor_amplifier", "van_der_pol"]

SWEEP = """model = "robertson"
t_span = [0.0, 1e5]
[solver]
method = "radau5"
rtol = 1e-6
atol = {{ y1 = 1e-8, y2 = 1e-12, y3 = 1e-8 }}
[ensemble]
instances = {instances}
seed = 42
[parameters]
k1 = {{ distribution = "uniform", min = 0.02, max = 0.06 }}
k2 = {{ distribution = "uniform", min = 0.5e4, max = 1.5e4 }}
k3 = {{ distribution = "uniform", min = 1.5e7, max = 4.5e7 }}
[output]
times = {times}
instances = false
statistics = ["mean", "std", "min", "max"]
"""
END = '"end"'
MANY_TIMES = "{ log = [1e-3, 1e5, 81] }"
# Name, backend, instances, output times and seconds. The processor is asked for what it can do in time.
RUNS = [
    ("cpu, 10^7, end", "cpu", 10**7, END, 90),
    ("cuda, 10^7, end", "cuda", 10**7, END, 90),
    ("cuda, 10^8, end", "cuda", 10**8, END, 150),
    ("cpu, 10^7, 81 times", "cpu", 10**7, MANY_TIMES, 90),
    ("cuda, 10^7, 81 times", "cuda", 10**7, MANY_TIMES, 90),
]

DOUBLE = {"dadd": 1, "dmul": 1, "dfma": 2}
DOUBLE_METRIC = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
FIGURES = {
    "double pipe, % of peak": "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active",
    "warps, % of most": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
}
METRICS = [DOUBLE_METRIC.format(name) for name in DOUBLE] + ["gpu__time_duration.sum", "dram__bytes.sum", *FIGURES.values()]


class Reading:
    """What a step's output says: data for the JSON, notes for the table, and whether it is a failure."""

    def __init__(self, data=None, notes=(), failed=False):
        self.data = data
        self.notes = list(notes)
        self.failed = failed


class Stage:
    """Runs steps one after another and keeps the record."""

    def __init__(self, number, out, work, limit):
        self.number = number
        self.log = out / f"stage{number}.log"
        self.json = out / f"stage{number}.json"
        self.work = work  # a temporary folder
        self.limit = limit  # of every step, for tests; None: each has its own
        self.deadline = time.monotonic() + STAGE_SECONDS
        self.environment = dict(
            os.environ, MANYFOLD_CACHE=str(work / "cache"), MANYFOLD_SOURCE=str(ROOT), PYTHONUNBUFFERED="1",
            XLA_PYTHON_CLIENT_PREALLOCATE="false")  # JAX would take most of the memory from the others
        self.steps = []
        self.log.write_bytes(b"")

    def record(self, name, result, seconds, notes=(), data=None, optional=False):
        """Result: ok, failed, missing or timed out. A step that is optional may be missing."""
        step = {"name": name, "result": result, "seconds": round(seconds, 2), "notes": list(notes)}
        if data is not None:
            step["data"] = data
        step["accepted"] = result == "ok" or (optional and result == "missing")
        self.steps.append(step)
        self.json.write_text(json.dumps({
            "stage": self.number, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "accepted": all(step["accepted"] for step in self.steps), "steps": self.steps}, indent=1) + "\n")
        print(f"{name}: {result}", flush=True)
        return step

    def seconds_for(self, limit):
        return min(self.limit or limit, self.deadline - time.monotonic())

    def run(self, name, command, limit, read=lambda output: Reading(), optional=False):
        """A step that is a program; its first word may be None, a program that was not found."""
        if command[0] is None or shutil.which(command[0], path=self.environment["PATH"]) is None:
            return self.record(name, "missing", 0.0, optional=optional)
        left = self.seconds_for(limit)
        if left < LEAST_SECONDS:
            return self.record(name, "timed out", 0.0, ["no time was left"])
        begin = time.monotonic()
        code, output = self.execute(name, command, left)
        seconds = time.monotonic() - begin
        try:
            reading = read(output)
        except (ValueError, KeyError, IndexError, TypeError, OSError) as error:
            # Of a program that did not come to its end nothing can be asked.
            reading = Reading(notes=[] if code != 0 else [f"unexpected output: {error!r}"], failed=True)
        if code is None:
            return self.record(name, "timed out", seconds, reading.notes, reading.data)
        if code != 0 or reading.failed:
            last = output.strip().splitlines()[-1:]
            return self.record(name, "failed", seconds, reading.notes or last or [f"exit code {code}"], reading.data)
        return self.record(name, "ok", seconds, reading.notes, reading.data)

    def execute(self, name, command, seconds):
        """Exit code, None after the time limit, and what was printed."""
        with open(self.log, "ab+") as log:
            log.write(f"\n==== {name}: {' '.join(map(str, command))}\n".encode())
            log.flush()
            begin = log.tell()
            # A group of its own, so that what it started ends with it.
            process = subprocess.Popen([str(word) for word in command], env=self.environment, stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=subprocess.STDOUT, process_group=0)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    # One that waits for the driver may not end: the next steps do not wait for it.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(10)
            log.seek(begin)
            output = log.read()
            if len(output) > MOST_OUTPUT:
                half = MOST_OUTPUT // 2
                log.truncate(begin)
                log.write(output[:half] + b"\n... left out ...\n" + output[-half:])
            return code, output.decode(errors="replace")

    def table(self):
        width = max(len(step["name"]) for step in self.steps)
        lines = [f"{'step':{width}}  {'result':9}  {'seconds':>7}  "]
        for step in self.steps:
            notes = step["notes"] or [""]
            lines.append(f"{step['name']:{width}}  {step['result']:9}  {step['seconds']:7.1f}  {notes[0]}")
            lines += [" " * (width + 22) + note for note in notes[1:]]
        return "\n".join(line.rstrip() for line in lines)


def json_in(output):
    """The JSON object in what a program printed, between its messages."""
    for begin in re.finditer(r"^\{", output, re.M):
        try:
            return json.JSONDecoder().raw_decode(output, begin.start())[0]
        except json.JSONDecodeError:
            pass
    raise ValueError("no JSON")


def tool(name):
    """A program of the toolkit: on the path, or where the toolkit has it."""
    for place in (name, TOOLKIT / "bin" / name, *sorted(TOOLKIT.glob(f"nsight-compute*/{name}")),
                  *sorted(pathlib.Path("/opt/nvidia/nsight-compute").glob(f"*/{name}"))):
        if shutil.which(place):
            return str(place)
    return None


def find_libraries(stage):
    """The toolkit's libraries, each of the first place that has it: the loader's list, the path for libraries, the toolkit,
    Python's packages. The loader is told of folders that are not in its list; those in it hold other libraries too, which
    must not take the place of the bundle's."""
    loader = shutil.which("ldconfig", path=stage.environment["PATH"] + ":/usr/sbin:/sbin")
    listed = subprocess.run([loader, "-p"], capture_output=True, text=True, check=False).stdout if loader else ""
    folders = [folder for folder in stage.environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    patterns = [f"{folder}/" for folder in [*folders, TOOLKIT / "lib64"]]
    patterns += [f"{folder}/nvidia/**/" for folder in sys.path if folder]
    found = {}
    for name in ("libnvrtc", "libcublas", "libcusolver"):
        places = re.findall(rf"=> (\S*/{name}\.so\S*)", listed)
        others = [place for pattern in patterns for place in sorted(glob.glob(f"{pattern}{name}.so*", recursive=True))]
        if not places and others:
            folders.append(os.path.dirname(others[0]))
        found[name] = (places + others + [None])[0]
    if folders:
        stage.environment["LD_LIBRARY_PATH"] = ":".join(dict.fromkeys(folders))
    return found


def tests(none_skipped):
    def read(output):
        # Failures and skips are listed again at the end, without a time.
        names = {what: re.findall(rf"^\[ +{mark} +\] (.*) \(\d+ ms\)$", output, re.M)
                 for what, mark in (("passed", "OK"), ("failed", "FAILED"), ("skipped", "SKIPPED"))}
        counts = {what: len(those) for what, those in names.items()}
        ran = re.search(r"^\[=+\] (\d+) tests? from .* ran\.", output, re.M)
        notes = [", ".join(f"{count} {what}" for what, count in counts.items())]
        if not ran:
            notes.append("did not come to the end")
        notes += [f"failed: {name.split(',')[0]}" for name in names["failed"][:MOST_NAMES]]
        notes += [f"skipped: {reason}" for reason in dict.fromkeys(re.findall(r": Skipped\n(.*)", output))]
        notes += re.findall(r"^\d+ instances in .*", output, re.M)
        notes += re.findall(r"=+ ((?:ERROR|RACECHECK) SUMMARY: .*)", output)
        failed = counts["failed"] > 0 or counts["passed"] == 0 or (none_skipped and counts["skipped"] > 0)
        return Reading(counts | {"failures": names["failed"]}, notes, failed)

    return read


def information(output):
    found = json_in(output)
    del found["methods"]
    devices = [f"{device['name']} ({device['architecture']})" for device in found["devices"]]
    notes = devices or [found["devices_missing"]]
    return Reading(found, [*notes, found["device_compiler"]], failed=not devices)


def benchmark(file):
    def note(row):
        ratio = row["gpu_instances_per_second"] / row["cpu_instances_per_second"]
        # null: the program does not know the device's peak.
        share = "" if row["share_of_peak"] is None else f", {100 * row['share_of_peak']:.1f} % of peak"
        return f"{row['method']}: {row['gpu_instances_per_second']:.3g} instances/s, {ratio:.1f} x processor{share}"

    def read(_):
        report = json.loads(file.read_text())
        return Reading(report, [note(row) for row in report["rows"]], failed=any(row["failed"] > 0 for row in report["rows"]))

    return read


def factorisations(output):
    rows = [line.split("\t") for line in output.splitlines() if re.match(r"\w+\t\d+\t\d+\t", line)]
    data = [{"solver": solver, "n": int(n), "batch": int(batch), "systems_per_second": float(rate), "residual": float(residual)}
            for solver, n, batch, rate, residual in rows]
    ratios = {"own": [], "cuSOLVER": []}
    for n in sorted({row["n"] for row in data}):
        for name, solvers in (("own", ("thread", "tile")), ("cuSOLVER", ("cusolver",))):
            mine = [row for row in data if row["n"] == n and row["solver"] in solvers]
            largest = max((row["batch"] for row in mine), default=None)
            rates = [row["systems_per_second"] for row in mine if row["batch"] == largest]
            rival = [row["systems_per_second"] for row in data
                     if row["n"] == n and row["solver"] == "cublas" and row["batch"] == largest]
            if rates and rival:
                ratios[name].append(f"{n}: {max(rates) / max(rival):.2g}")
    notes = [f"{name}, times cuBLAS by n: {', '.join(of_name)}" for name, of_name in ratios.items() if of_name]
    return Reading(data, notes, failed=not data)


def large_run(output):
    summary = json_in(output)
    back = summary["bytes_copied_back"] / summary["instances"]
    notes = [
        f"{summary['instances_per_second']:.4g} instances/s, {summary['wall_seconds']:.2f} s",
        f"{back:.3g} bytes per instance copied back",
    ]
    return Reading(summary, notes, failed=summary["by_status"].get("success", 0) != summary["instances"])


def profile(output):
    """Metrics of the launch. ncu prints a line of their names, one of units, and one for each launch."""
    lines = output.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    rows = list(csv.DictReader(lines[begin:]))
    if len(rows) < 2 or rows[0]["gpu__time_duration.sum"] not in ("ns", "nsecond") or rows[0]["dram__bytes.sum"] != "byte":
        raise ValueError("no table in the units asked for")
    # A metric that a device does not have is no number.
    data = {metric: float(rows[1][metric].replace(",", "")) for metric in METRICS if re.match(r"\d", rows[1].get(metric) or "")}
    seconds = data["gpu__time_duration.sum"] * 1e-9
    operations = sum(weight * data[DOUBLE_METRIC.format(name)] for name, weight in DOUBLE.items())
    data["double_operations_per_second"] = operations / seconds
    data["bytes_per_second"] = data["dram__bytes.sum"] / seconds
    rates = f"{operations / seconds / 1e9:.4g} GFLOP/s double, {data['bytes_per_second'] / 1e9:.4g} GB/s, {seconds:.3g} s"
    return Reading(data, [rates] + [f"{name} {data[metric]:.4g}" for name, metric in FIGURES.items() if metric in data])


def packages(output):
    """Rates of all solvers are in the log; of a comparison that was cut short what it had."""
    rows = re.findall(r"^ *(times as fast at error .*)", output, re.M)
    return Reading({"ratios": rows}, rows)


def reason_not_to_import(stage, names):
    call = [sys.executable, "-c", "import " + ", ".join(names)]
    try:
        tried = subprocess.run(call, env=stage.environment, capture_output=True, text=True, check=False,
                               timeout=max(stage.seconds_for(40), LEAST_SECONDS))
    except subprocess.TimeoutExpired:
        return "its import does not end"
    return "" if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["no reason given"])[-1]


def first_stage(stage):
    stage.run("nvidia-smi", ["nvidia-smi"], 20, optional=True)
    stage.run("manyfold info", ["bin/manyfold", "info", "--json"], 30, information)
    smoke = stage.run("smoke test", ["bin/gpu_device_test", f"--gtest_filter={SMOKE}"], 200, tests(none_skipped=False))
    if smoke["result"] != "ok":
        print("The smoke test did not pass: what follows would measure nothing.", flush=True)
        return
    for problem in BENCHMARKS:
        file = stage.work / f"{problem}.json"
        command = ["script/bench", "--gpu", "--problem", problem, "--json", file]
        stage.run(f"benchmark, {problem}", command, 120, benchmark(file))
    # Only a machine with nvcc makes a bundle that has it.
    if (ROOT / "bin/batched_lu").exists():
        stage.run("benchmark, LU", ["script/bench", "--lu"], 180, factorisations)
    else:
        stage.record("benchmark, LU", "missing", 0.0, optional=True)


def second_stage(stage):
    stage.run("tests", ["script/test", "--gpu"], 400, tests(none_skipped=True))
    sanitizer = tool("compute-sanitizer")
    for kind in ("memcheck", "racecheck", "initcheck", "synccheck"):
        # The program's own exit code is 1 where tests fail.
        command = [sanitizer, "--tool", kind, "--error-exitcode", "9", "bin/gpu_device_test", f"--gtest_filter={SANITIZED}"]
        stage.run(kind, command, 120, tests(none_skipped=True), optional=True)


def third_stage(stage):
    rates = {}
    for name, backend, instances, times, limit in RUNS:
        sweep = stage.work / "sweep.toml"
        sweep.write_text(SWEEP.format(instances=instances, times=times))
        result = stage.work / "result.nc"
        command = ["bin/manyfold", "run", sweep, "--backend", backend, "--out", result, "--force", "--json"]
        step = stage.run(name, command, limit, large_run)
        if step["result"] == "ok":
            rates[name] = step["data"]["instances_per_second"]
    ratios = {}
    for what in ("10^7, end", "10^7, 81 times"):
        if f"cuda, {what}" in rates and f"cpu, {what}" in rates:
            ratios[what] = rates[f"cuda, {what}"] / rates[f"cpu, {what}"]
    notes = [f"{what}: {ratio:.1f} x processor" for what, ratio in ratios.items()]
    stage.record("ratio", "ok" if notes else "missing", 0.0, notes, ratios)

    profiler = tool("ncu")
    for problem in ("robertson", "transistor_amplifier"):
        # The first launch, of radau5. The card's clocks stay as they are.
        command = [profiler, "--clock-control", "none", "--kernel-name", "manyfold_integrate", "--launch-count", "1",
                   "--metrics", ",".join(METRICS), "--csv", "--page", "raw", "--print-units", "base",
                   "bin/compare_gpu", "--problem", problem, "--scale", "0.1", "--rounds", "1"]
        stage.run(f"profile, {problem}", command, 80, profile, optional=True)

    wheels = sorted((ROOT / "wheels").glob("*.whl"))
    if wheels:
        folder = stage.work / "packages"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", folder]
        stage.run("carried wheels", [*install, *wheels], 60)
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        stage.environment["PYTHONPATH"] = ":".join(path for path in paths if path)
    for package in ("diffrax", "cubie"):
        if reason := reason_not_to_import(stage, [package, "netCDF4"]):
            stage.record(package, "missing", 0.0, [reason], optional=True)
            continue
        command = [sys.executable, "bench/compare_packages.py", "--command", "bin/manyfold", "--packages", package]
        stage.run(package, command, 150, packages, optional=True)


def main():
    parser = argparse.ArgumentParser(prog="script/gpu-evidence", description="Evidence from a machine with a GPU.")
    parser.add_argument("stage", type=int, choices=[1, 2, 3])
    parser.add_argument("--out", type=pathlib.Path, default=os.environ.get("OUT") or "gpu-evidence", help="folder for results")
    parser.add_argument("--limit", type=float, help="seconds that a step may take at most, in place of its own limit")
    arguments = parser.parse_args()
    if not (ROOT / "bin/gpu_device_test").exists():
        sys.exit("script/gpu-evidence: runs in a bundle, which script/gpu-evidence --prepare makes")
    # The program of the step ends too, and the temporary folder goes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as work:
        stage = Stage(arguments.stage, out, pathlib.Path(work), arguments.limit)
        begin = time.monotonic()
        found = find_libraries(stage)
        notes = [f"{name}: {place or 'not found'}" for name, place in found.items()]
        stage.record("libraries", "ok" if found["libnvrtc"] else "missing", time.monotonic() - begin, notes, found)
        (first_stage, second_stage, third_stage)[arguments.stage - 1](stage)
    print(stage.table())
    sys.exit(0 if all(step["accepted"] for step in stage.steps) else 1)


if __name__ == "__main__":
    main()
