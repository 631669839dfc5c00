#!/usr/bin/env python3
"""Digests of the results of forty fixed runs: all methods, events, precisions, forms and rules of reuse."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

# Model, method, further keys of [solver].
RUNS = [
    ("robertson", "radau5", ""), ("robertson", "radau", ""), ("robertson", "radau1", ""), ("robertson", "radau3", ""),
    ("robertson", "radau9", ""), ("robertson", "radau13", ""), ("robertson", "lobatto2", ""), ("robertson", "lobatto4", ""),
    ("robertson", "lobatto6", ""), ("robertson", "esdirk54", ""), ("robertson", "esdirk43", ""),
    ("robertson", "kvaerno54", ""), ("robertson", "trbdf2", ""), ("robertson", "sdirk4", ""), ("robertson", "cash4", ""),
    ("robertson", "dirks", ""), ("das2", "dirka", ""), ("robertson", "dirka3", ""), ("robertson", "rodas5p", ""),
    ("robertson", "rodas4", ""), ("robertson", "rodas3", ""), ("robertson", "bdf", ""), ("stick_slip", "dopri54", ""),
    ("thermostat", "rk4", ""),
    ("robertson", "radau5", 'precision = "float32"\nrtol = 1e-3'), ("robertson", "esdirk54", 'precision = "mixed"'),
    ("transistor_amplifier", "radau5", 'precision = "mixed"'), ("transistor_amplifier", "auto", 'error_test = "differential"'),
    ("rectifier", "radau5", ""), ("rectifier", "bdf", ""), ("stick_slip", "esdirk54", ""), ("das2", "rodas5p", ""),
    ("bouncing_ball_track", "radau5", ""), ("bouncing_ball_track_index2", "radau", ""),
    ("pendulum_index2", "radau5", "projection = true"), ("pendulum_index3", "radau9", ""), ("pendulum_ggl", "esdirk54", ""),
    ("slider_crank", "radau5", 'jacobian_reuse = "contraction"'), ("diffusion", "sdirk4", 'jacobian_reuse = "cameron"'),
    ("van_der_pol", "bdf", 'jacobian = "finite_differences"'),
]


def main():
    parser = argparse.ArgumentParser(prog="bench/identical_runs.py", description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--digest", required=True, help="the program result_digest")
    parser.add_argument("--only", default="", help="runs whose line contains this")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        def run(number):
            model, method, more = RUNS[number]
            described = json.loads(subprocess.run([arguments.command, "describe", model, "--json"], check=True,
                                                  capture_output=True).stdout)
            sampled = [p for p in described["parameters"] if p["value"] != 0.0 and p["name"] != described.get("structural", {}).get("name")]
            sweep = os.path.join(folder, f"{number}.toml")
            result = os.path.join(folder, f"{number}.nc")
            with open(sweep, "w") as file:
                file.write(f'model = "{model}"\n[solver]\nmethod = "{method}"\nbackend = "cpu"\n{more}\n'
                           '[ensemble]\ninstances = 37\nsampler = "sobol"\nseed = 3\n[parameters]\n')
                for parameter in sampled[:1]:
                    value = parameter["value"]
                    low, high = sorted((0.95 * value, 1.05 * value))
                    file.write(f'{parameter["name"]} = {{ distribution = "uniform", min = {low!r}, max = {high!r} }}\n')
                file.write(f'[output]\nfile = "{result}"\ntimes = 7\nstatistics = ["mean", "quantile(0.3)"]\n')
            done = subprocess.run([arguments.command, "run", sweep, "--json"], capture_output=True, text=True)
            if done.returncode not in (0, 3):
                return f"exit code {done.returncode}: {done.stderr.strip().splitlines()[-1]}\n"
            return subprocess.run([arguments.digest, result], check=True, capture_output=True, text=True).stdout

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            chosen = [number for number, item in enumerate(RUNS) if arguments.only in " ".join(item)]
            for number, text in zip(chosen, pool.map(run, chosen)):
                print(" ".join(RUNS[number]).replace("\n", " ").strip())
                print(text, end="", flush=True)


if __name__ == "__main__":
    main()
