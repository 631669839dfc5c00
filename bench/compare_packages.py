#!/usr/bin/env python3
"""manyfold against diffrax (JAX) and CuBIE (CUDA): instances per second at equal achieved error.

Robertson's kinetics (manyfold: as a DAE; the others: as an ODE) and Van der Pol's oscillator with the grid of CuBIE's own
benchmark. Every solver integrates the same instances at several tolerances; the error of an instance is the largest of its
variables at the end against manyfold at rtol 1e-11 on the processor, and counts by its median. Times are the second call's,
without compilation. `script/bench --packages` installs the packages and runs this.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

REFERENCE_INSTANCES = 500


class Problem:
    """Instances of one model: names, samples of parameters and initial values, span and the scale of errors."""

    def __init__(self, model, variables, parameters, initial, t_end, scale, tolerances):
        self.model = model
        self.variables = variables
        self.parameters = parameters  # name -> values of the instances
        self.initial = initial  # name -> values of the instances
        self.t_end = t_end
        self.scale = numpy.array(scale)
        self.tolerances = tolerances
        self.count = len(next(iter(parameters.values())))


def robertson(count):
    random = numpy.random.default_rng(1)
    rates = {name: nominal * random.uniform(0.5, 1.5, count) for name, nominal in (("k1", 0.04), ("k2", 1e4), ("k3", 3e7))}
    start = {"y1": numpy.ones(count), "y2": numpy.zeros(count), "y3": numpy.zeros(count)}
    return Problem("robertson", ["y1", "y2", "y3"], rates, start, 1e5, [1.0, 1e-4, 1.0], [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])


def van_der_pol(count):
    """Damping and initial value over a square grid, t = 20: CuBIE's quick start."""
    side = max(2, round(count**0.5))
    start, damping = (axis.ravel() for axis in numpy.meshgrid(numpy.linspace(1.0, 2.0, side), numpy.linspace(1.0, 3.0, side)))
    initial = {"y1": start, "y2": numpy.zeros(side * side)}
    return Problem("van_der_pol", ["y1", "y2"], {"mu": damping}, initial, 20.0, [1.0, 1.0], [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])


def right_hand_side(problem, numbers):
    """f(t, y, p) with the functions of `numbers` (numpy or jax.numpy)."""
    if problem.model == "robertson":

        def f(t, y, p):
            consumed = p["k1"] * y[0]
            returned = p["k2"] * y[1] * y[2]
            made = p["k3"] * y[1] * y[1]
            return numbers.stack([returned - consumed, consumed - returned - made, made])

    else:

        def f(t, y, p):
            return numbers.stack([y[1], p["mu"] * (1.0 - y[0] * y[0]) * y[1] - y[0]])

    return f


def absolute_tolerances(problem, rtol):
    return rtol * problem.scale


def solve_with_manyfold(problem, rtol, command, backend, precision="float64", method="radau5", count=None):
    """End values [instances][variables], and the seconds of the integration."""
    import netCDF4

    count = count or problem.count
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        columns = {**problem.parameters, **problem.initial}
        if problem.model == "robertson":
            del columns["y3"]  # follows from the others
        with open(folder / "instances.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*(values[:count].tolist() for values in columns.values())))
        atol = ", ".join(f"{name} = {value!r}" for name, value in zip(problem.variables, absolute_tolerances(problem, rtol).tolist()))
        (folder / "sweep.toml").write_text(f"""
model = "{problem.model}"
t_span = [0.0, {problem.t_end!r}]
[solver]
method = "{method}"
backend = "{backend}"
precision = "{precision}"
rtol = {rtol!r}
atol = {{ {atol} }}
[ensemble]
sampler = "table"
table = "instances.csv"
[output]
times = "end"
""")
        result = folder / "result.nc"
        call = [command, "run", str(folder / "sweep.toml"), "--out", str(result), "--force", "--json"]
        for _ in range(2):
            finished = subprocess.run(call, capture_output=True, text=True, check=False)
            if finished.returncode not in (0, 3):
                sys.exit(f"compare_packages: {' '.join(call)}: {finished.stderr}")
        summary = json.loads(finished.stdout)
        with netCDF4.Dataset(result) as file:
            values = numpy.stack([numpy.ma.filled(file[name][:, -1], numpy.nan) for name in problem.variables], axis=1)
    return values, summary["wall_seconds"]


def solve_with_diffrax(problem, rtol):
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    f = right_hand_side(problem, jax.numpy)
    term = diffrax.ODETerm(f)
    controller = diffrax.PIDController(rtol=rtol, atol=jax.numpy.asarray(absolute_tolerances(problem, rtol)))

    def one(y, p):
        solution = diffrax.diffeqsolve(
            term, diffrax.Kvaerno5(), 0.0, problem.t_end, None, y, p, saveat=diffrax.SaveAt(t1=True),
            stepsize_controller=controller, max_steps=100_000, throw=False)
        return solution.ys[0]

    solve = jax.jit(jax.vmap(one))
    y = jax.numpy.stack([jax.numpy.asarray(problem.initial[name]) for name in problem.variables], axis=1)
    p = {name: jax.numpy.asarray(values) for name, values in problem.parameters.items()}
    solve(y, p).block_until_ready()
    begin = time.perf_counter()
    values = solve(y, p).block_until_ready()
    return numpy.asarray(values), time.perf_counter() - begin


def solve_with_cubie(problem, rtol, precision="float64", method="radau_iia_5"):
    from cubie import Solver, create_ODE_system

    if problem.model == "robertson":
        equations = ["dy1 = -k1 * y1 + k2 * y2 * y3", "dy2 = k1 * y1 - k2 * y2 * y3 - k3 * y2 * y2", "dy3 = k3 * y2 * y2"]
    else:
        equations = ["dy1 = y2", "dy2 = mu * (1 - y1 * y1) * y2 - y1"]
    number = getattr(numpy, precision)
    system = create_ODE_system(
        equations, states={name: float(problem.initial[name][0]) for name in problem.variables},
        parameters={name: float(values[0]) for name, values in problem.parameters.items()}, precision=number)
    solver = Solver(system, algorithm=method, rtol=rtol, atol=absolute_tolerances(problem, rtol), output_types=["state"])
    initial = {name: problem.initial[name].astype(number) for name in problem.variables}
    parameters = {name: values.astype(number) for name, values in problem.parameters.items()}
    for _ in range(2):
        begin = time.perf_counter()
        result = solver.solve(initial, parameters, duration=problem.t_end, grid_type="verbatim")
        seconds = time.perf_counter() - begin
    # [time][variable][run]; of the saved times the last is the end.
    values = numpy.array(result.state)[-1, : len(problem.variables), :].T
    solver.close()
    return values, seconds


def seconds_at(rows, error):
    """Seconds per instance at an achieved error, by interpolation of the logarithms; nan outside."""
    points = sorted((row["error"], row["seconds"] / row["instances"]) for row in rows if row["error"] > 0.0)
    if len(points) < 2 or not points[0][0] <= error <= points[-1][0]:
        return float("nan")
    errors, costs = numpy.log([point[0] for point in points]), numpy.log([point[1] for point in points])
    return float(numpy.exp(numpy.interp(numpy.log(error), errors, costs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--command", default="build/release/manyfold", help="the manyfold command")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "cpu"], help="of manyfold (cpu: to try this script)")
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--packages", nargs="+", default=["diffrax", "cubie"], choices=["diffrax", "cubie"])
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()

    solvers = {
        "manyfold radau5": lambda problem, rtol: solve_with_manyfold(problem, rtol, arguments.command, arguments.backend),
        "manyfold rodas4": lambda problem, rtol: solve_with_manyfold(
            problem, rtol, arguments.command, arguments.backend, method="rodas4"),
    }
    if "diffrax" in arguments.packages:
        solvers["diffrax Kvaerno5"] = solve_with_diffrax
    if "cubie" in arguments.packages:
        solvers["cubie radau_iia_5"] = solve_with_cubie
        solvers["cubie rosenbrock23"] = lambda problem, rtol: solve_with_cubie(problem, rtol, method="rosenbrock23")

    rows = []
    for make in (robertson, van_der_pol):
        problem = make(arguments.instances)
        few = min(REFERENCE_INSTANCES, problem.count)
        reference, _ = solve_with_manyfold(problem, 1e-11, arguments.command, "cpu", count=few)
        print(f"{problem.model}: {problem.count} instances to t = {problem.t_end:g}")
        print(f"{'solver':22} {'rtol':>8} {'median error':>13} {'instances/s':>12} {'failed':>7}")
        for name, solve in solvers.items():
            for rtol in problem.tolerances:
                values, seconds = solve(problem, rtol)
                errors = numpy.max(numpy.abs(values[:few] - reference) / (problem.scale + numpy.abs(reference)), axis=1)
                failed = int(numpy.sum(~numpy.isfinite(values).all(axis=1)))
                row = {"problem": problem.model, "solver": name, "rtol": rtol, "error": float(numpy.nanmedian(errors)),
                       "instances": problem.count, "seconds": seconds, "failed": failed}
                rows.append(row)
                print(f"{name:22} {rtol:8.0e} {row['error']:13.1e} {problem.count / seconds:12.4g} {failed:7d}", flush=True)
        best = lambda prefix, error: min(
            (seconds_at([r for r in rows if r["solver"] == s and r["problem"] == problem.model], error)
             for s in solvers if s.startswith(prefix)), key=lambda x: (x != x, x))
        for error in (1e-3, 1e-4, 1e-5, 1e-6):
            ours = best("manyfold", error)
            ratios = [f"{package} {best(package, error) / ours:.1f}" for package in arguments.packages]
            print(f"  times as fast at error {error:.0e}: " + ", ".join(ratios))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
