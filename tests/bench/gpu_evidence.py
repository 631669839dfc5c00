"""script/gpu-evidence without a GPU: a bundle of stand-ins, which pass, fail, hang or skip as they are told."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

GPU_TEST = """#!/usr/bin/env bash
[[ -n $MANYFOLD_CACHE && -e $MANYFOLD_SOURCE/script/gpu-evidence ]] || exit 7
echo "[ RUN      ] Problems/Device.Error/robertson_radau5"
echo "[       OK ] Problems/Device.Error/robertson_radau5 (1 ms)"
if [[ -e skips && $* != *robertson_radau5* ]]; then
  echo "tests/gpu/device_test.cpp:1: Skipped"
  echo "no cuBLAS"
  echo "[  SKIPPED ] Problems/Device.Error/diffusion_radau5_phased (0 ms)"
fi
if [[ -e fails ]]; then echo "[  FAILED  ] Problems/Device.Error/robertson_radau5_tile2, where GetParam() = x (2 ms)"; fi
echo "[==========] 2 tests from 1 test suite ran. (3 ms total)"
if [[ -e skips && $* != *robertson_radau5* ]]; then
  echo "[  SKIPPED ] Problems/Device.Error/diffusion_radau5_phased"
fi
if [[ -e fails ]]; then exit 1; fi
"""

# Hangs with a child, which has to end with it.
COMPARE_GPU = """#!/usr/bin/env bash
while [[ $# -gt 0 ]]; do
  case $1 in
    --problem) problem=$2; shift ;;
    --json) file=$2; shift ;;
  esac
  shift
done
if [[ -e hangs && $problem == pendulum ]]; then
  echo "before it hangs"
  sleep 60 &
  echo $! > child
  wait
fi
echo '{"rows": [{"method": "radau5", "gpu_instances_per_second": 3e6, "cpu_instances_per_second": 1e5,
  "share_of_peak": 0.25, "failed": 0}]}' > "$file"
"""

MANYFOLD = """#!/usr/bin/env bash
if [[ $1 == info ]]; then
  echo '{"devices": [{"name": "Device", "architecture": "9.0"}],'
  echo '"devices_missing": "", "device_compiler": "NVRTC", "methods": []}'
  exit 0
fi
rate=1e6
case $* in *"--backend cuda"*) rate=4e7 ;; esac
count=$(sed -n 's/instances = \\([0-9]\\)/\\1/p' "$2")
echo "a message"
echo "{"
echo "\\"instances\\": $count, \\"by_status\\": {\\"success\\": $count}, \\"wall_seconds\\": 1.0,"
echo "\\"instances_per_second\\": $rate, \\"bytes_copied_back\\": $((178 * count))}"
"""

BATCHED_LU = r"""#!/usr/bin/env bash
printf '# Device\n# solver\tn\tbatch\tsystems_per_second\tresidual\n'
printf 'tile\t4\t100\t1e3\t1e-15\ncublas\t4\t100\t4e3\t1e-15\ntile\t4\t1000\t9e4\t1e-15\ncublas\t4\t1000\t3e4\t1e-15\n'
printf 'cublas\t256\t100\t2e3\t1e-15\ncusolver\t256\t100\t3e3\t1e-15\ncublas\t256\t1000\t5e3\t1e-15\n'
"""

SANITIZER = """#!/usr/bin/env bash
shift 4
"$@"
echo "========= ERROR SUMMARY: 0 errors"
"""

NAMES = ["ID", "Kernel Name", *(f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum" for name in ("dadd", "dmul", "dfma")),
         "gpu__time_duration.sum", "dram__bytes.sum", "launch__registers_per_thread",
         "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active"]
PROFILE = [NAMES, ["", "", "inst", "inst", "inst", "ns", "byte", "register/thread", "%"],
           ["0", "manyfold_integrate", "1000", "2000", "3,500", "2,000", "4000", "128", "n/a"]]
NCU = "#!/usr/bin/env bash\necho '==PROF== Profiling'\ncat <<'END'\n{}\nEND\n".format(
    "\n".join(",".join(f'"{cell}"' for cell in row) for row in PROFILE))

COMPARE_PACKAGES = "print('robertson: 10 instances')\nprint('  times as fast at error 1e-04: diffrax 60.0')\n"


class Evidence(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.bundle = self.folder / "bundle"
        for file in ("script/gpu-evidence", "script/bench", "script/test", "bench/gpu_evidence.py"):
            self.put(f"bundle/{file}", (ROOT / file).read_text())
        self.put("bundle/bin/gpu_device_test", GPU_TEST)
        self.put("bundle/bin/compare_gpu", COMPARE_GPU)
        self.put("bundle/bin/batched_lu", BATCHED_LU)
        self.put("bundle/bin/manyfold", MANYFOLD)
        self.put("bundle/bench/compare_packages.py", COMPARE_PACKAGES)
        self.put("tools/nvidia-smi", "#!/bin/sh\necho Device\n")
        self.put("tools/compute-sanitizer", SANITIZER)
        self.put("tools/ncu", NCU)
        self.put("packages/diffrax.py", "")
        self.put("packages/netCDF4.py", "")
        self.put("packages/cubie.py", "raise ImportError('not on this machine')\n")
        self.put("toolkit/lib64/libnvrtc.so", "")

    def put(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def tell(self, word):
        """The stand-ins look for files of this name in the folder where they run."""
        self.put(f"bundle/{word}", "")

    def environment(self):
        return dict(
            os.environ, PATH=f"{self.folder}/tools:{os.environ['PATH']}", PYTHONPATH=str(self.folder / "packages"),
            CUDA_HOME=str(self.folder / "toolkit"), OUT=str(self.folder / "out"))

    def child_has_ended(self):
        """Or was not collected yet by whoever inherited it."""
        state = pathlib.Path("/proc", (self.bundle / "child").read_text().strip(), "stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"

    def stage(self, number, *options):
        ended = subprocess.run([self.bundle / "script/gpu-evidence", str(number), *options], cwd=self.folder,
                               env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(ended.stderr, "")
        self.code, self.output = ended.returncode, ended.stdout
        self.report = json.loads((self.folder / f"out/stage{number}.json").read_text())
        self.log = (self.folder / f"out/stage{number}.log").read_text()
        self.results = {step["name"]: step["result"] for step in self.report["steps"]}
        self.notes = {step["name"]: " ".join(step["notes"]) for step in self.report["steps"]}
        for step in self.report["steps"]:
            self.assertRegex(self.output, rf"(?m)^{re.escape(step['name'])} +{step['result']} +[\d.]+")

    def test_all_is_well(self):
        for number in (1, 2, 3):
            self.stage(number)
            wrong = {name: result for name, result in self.results.items() if result != "ok" and name != "cubie"}
            self.assertEqual(wrong, {})
            self.assertEqual(self.code, 0)
            self.assertTrue(self.report["accepted"])
            if number == 1:
                self.assertIn("Device (9.0)", self.notes["manyfold info"])
                self.assertIn("30.0 x processor, 25.0 % of peak", self.notes["benchmark, van_der_pol"])
                self.assertIn("own, times cuBLAS by n: 4: 3", self.notes["benchmark, LU"])
                self.assertIn("cuSOLVER, times cuBLAS by n: 256: 1.5", self.notes["benchmark, LU"])
                self.assertIn("==== smoke test: bin/gpu_device_test", self.log)
            if number == 2:
                self.assertIn("1 passed, 0 failed, 0 skipped", self.notes["tests"])
                self.assertIn("ERROR SUMMARY: 0 errors", self.notes["memcheck"])
        self.assertEqual(self.results["cubie"], "missing")
        self.assertIn("not on this machine", self.notes["cubie"])
        self.assertIn("end: 40.0 x processor", self.notes["ratio"])
        self.assertIn("178 bytes per instance copied back", self.notes["cuda, 10^8, end"])
        # 1000 + 2000 + 2 * 3500 operations and 4000 bytes in 2000 ns.
        self.assertIn("5 GFLOP/s double, 2 GB/s", self.notes["profile, robertson"])
        self.assertIn("diffrax 60.0", self.notes["diffrax"])
        self.assertLessEqual(len(list((self.folder / "out").iterdir())), 8)

    def test_a_failed_smoke_test_ends_the_stage(self):
        self.tell("fails")
        self.stage(1)
        self.assertEqual(self.code, 1)
        self.assertEqual(self.results["smoke test"], "failed")
        self.assertIn("1 passed, 1 failed", self.notes["smoke test"])
        self.assertIn("failed: Problems/Device.Error/robertson_radau5_tile2", self.notes["smoke test"])
        self.assertFalse(any(name.startswith("benchmark") for name in self.results))
        self.assertFalse(self.report["accepted"])

    def test_a_step_that_hangs_ends_alone(self):
        self.tell("hangs")
        begin = time.monotonic()
        self.stage(1, "--limit", "2")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(self.code, 1)
        self.assertEqual(self.results["benchmark, pendulum"], "timed out")
        self.assertEqual(self.results["benchmark, van_der_pol"], "ok")
        self.assertEqual(self.results["benchmark, LU"], "ok")
        self.assertIn("before it hangs", self.log)
        self.assertTrue(self.child_has_ended())

    def test_a_stage_that_is_ended_ends_its_step(self):
        self.tell("hangs")
        running = subprocess.Popen([self.bundle / "script/gpu-evidence", "1"], cwd=self.folder, env=self.environment(),
                                   stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        while not ((self.bundle / "child").exists() and (self.bundle / "child").read_text()):
            self.assertLess(time.monotonic() - begin, 30)
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        self.assertEqual(running.wait(20), 128 + signal.SIGTERM)
        self.assertTrue(self.child_has_ended())
        steps = json.loads((self.folder / "out/stage1.json").read_text())["steps"]
        self.assertEqual(steps[-1]["name"], "benchmark, robertson")

    def test_a_skipped_test_is_a_failure(self):
        self.tell("skips")
        self.stage(2)
        self.assertEqual(self.code, 1)
        self.assertEqual(self.results["tests"], "failed")
        self.assertIn("1 passed, 0 failed, 1 skipped skipped: no cuBLAS", self.notes["tests"])
        self.assertEqual(self.results["memcheck"], "ok")

    def test_a_program_that_is_missing(self):
        (self.bundle / "bin/compare_gpu").unlink()
        (self.bundle / "bin/batched_lu").unlink()
        self.put("bundle/bin/compare_gpu", "#!/usr/bin/env bash\necho no device to measure >&2\nexit 1\n")
        self.stage(1)
        self.assertEqual(self.results["benchmark, LU"], "missing")
        self.assertEqual(self.results["benchmark, pendulum"], "failed")
        self.assertEqual(self.notes["benchmark, pendulum"], "no device to measure")
        self.assertEqual(self.code, 1)

    def test_what_is_carried_has_a_limit(self):
        self.put("clone/CMakeLists.txt", "")
        self.put("clone/script/gpu-evidence", (ROOT / "script/gpu-evidence").read_text())
        for size, code in (("60M", 0), ("61M", 1)):
            self.put("clone/script/bundle", "#!/bin/sh\necho \"$@\"\nmkdir -p build/bundle\n"
                     f"truncate --size {size} build/bundle/manyfold.tar.xz\n")
            ended = subprocess.run([self.folder / "clone/script/gpu-evidence", "--prepare", "--wheels", "packages"],
                                   cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, code)
            self.assertIn(f"--wheels {self.folder.resolve()}/packages", ended.stdout)
            self.assertEqual(ended.stdout.count("script/gpu-evidence "), 3 if code == 0 else 0)
            self.assertEqual("61 MiB" in ended.stderr, code == 1)

    def test_misuse(self):
        for options in ((), ("4",), ("--prepare", "--nonsense"), ("--prepare",)):
            ended = subprocess.run([self.bundle / "script/gpu-evidence", *options], capture_output=True, text=True, check=False)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn("gpu-evidence", ended.stderr)
        shutil.rmtree(self.bundle / "bin")
        ended = subprocess.run([self.bundle / "script/gpu-evidence", "1"], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("--prepare makes", ended.stderr)


if __name__ == "__main__":
    unittest.main()
