#!/usr/bin/env python3
"""manyfold against packages from PyPI on one core of a processor: instances per second at equal achieved error.

CasADi (IDAS, equations compiled by gcc), scikit-sundae (IDA), diffrax (JAX, compiled, all instances at once) and heyoka
(Taylor series, a lane per instance), each as its documentation has it. DAEs go to the first two, the others get an ODE
where there is one: Robertson's kinetics, and a pendulum whose rod force is eliminated by hand. Instances are the same for
all; slow packages integrate the first of them. The error of an instance is the largest of the compared variables at the end
against manyfold's radau5 at rtol 1e-11, and counts by its median. Compilation is not counted.
`script/bench --python` installs the packages and runs this.
"""

import argparse
import datetime
import importlib.metadata
import json
import math
import os
import pathlib
import time

import numpy

import compare_packages
from compare_packages import absolute_tolerances, seconds_at, solve_with_manyfold


class Dae:
    """x' = f(t, x, z, p), 0 = g(t, x, z, p): what CasADi and scikit-sundae get. `m` has the functions of numbers."""

    def start(self, p):
        """x and z at t = 0."""
        raise NotImplementedError

    def equations(self, m, t, x, z, p):
        """Lists of f and g."""
        raise NotImplementedError

    def compared(self, x, z):
        """The variables that are compared, in the order of the problem's `variables`."""
        return [*x, *z]


class Robertson(Dae):
    scale = [1.0, 1e-4, 1.0]

    def start(self, p):
        return [1.0, 0.0], [0.0]

    def equations(self, m, t, x, z, p):
        consumed, returned = p["k1"] * x[0], p["k2"] * x[1] * z[0]
        return [returned - consumed, consumed - returned - p["k3"] * x[1] * x[1]], [x[0] + x[1] + z[0] - 1.0]


class Pendulum(Dae):
    scale = [1.0, 1.0, 1.0, 1.0, 1.0]

    def start(self, p):
        x, z = p["L"] * math.sin(p["angle"]), -p["L"] * math.cos(p["angle"])
        return [x, z, 0.0, 0.0], [-p["g"] * z / p["L"] ** 2]

    def equations(self, m, t, x, z, p):
        f = [x[2], x[3], -z[0] * x[0], -z[0] * x[1] - p["g"]]
        return f, [x[2] * x[2] + x[3] * x[3] - z[0] * p["L"] * p["L"] - p["g"] * x[1]]

    def compared(self, x, z):
        return list(x)


class TransistorAmplifier(Dae):
    """Differences of voltages across capacitors are x: u1 - u2, u3, u4 - u5, u6, u7 - u8; z: u2, u5, u8."""

    scale = [1.0] * 8

    def start(self, p):
        u2 = p["Ub"] * p["R1"] / (p["R1"] + p["R2"])
        u5 = p["Ub"] * p["R5"] / (p["R5"] + p["R6"])
        return [-u2, u2, p["Ub"] - u5, u5, p["Ub"]], [u2, u5, 0.0]

    def equations(self, m, t, x, z, p):
        u1, u2, u3, u4, u5, u6, u7, u8 = self.compared(x, z)
        first = p["beta"] * (m.exp((u2 - u3) / p["UF"]) - 1.0)
        second = p["beta"] * (m.exp((u5 - u6) / p["UF"]) - 1.0)
        into_1 = (u1 - p["amplitude"] * m.sin(2.0 * math.pi * p["frequency"] * t)) / p["R0"]
        into_2 = u2 / p["R1"] + (u2 - p["Ub"]) / p["R2"] + (1.0 - p["alpha"]) * first
        into_4 = (u4 - p["Ub"]) / p["R4"] + p["alpha"] * first
        into_5 = u5 / p["R5"] + (u5 - p["Ub"]) / p["R6"] + (1.0 - p["alpha"]) * second
        into_7 = (u7 - p["Ub"]) / p["R8"] + p["alpha"] * second
        f = [-into_1 / p["C1"], (first - u3 / p["R3"]) / p["C2"], -into_4 / p["C3"], (second - u6 / p["R7"]) / p["C4"],
             -into_7 / p["C5"]]
        return f, [into_1 + into_2, into_4 + into_5, into_7 + u8 / p["R9"]]

    def compared(self, x, z):
        return [x[0] + z[0], z[0], x[1], x[2] + z[1], z[1], x[3], x[4] + z[2], z[2]]


def pendulum(count):
    random = numpy.random.default_rng(2)
    parameters = {"g": random.uniform(7.0, 20.0, count), "L": random.uniform(0.5, 1.5, count),
                  "angle": random.uniform(0.2, 1.5, count)}
    problem = compare_packages.Problem("pendulum", ["x", "z", "u", "w"], parameters, {}, 2.0, [1.0] * 4,
                                       [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
    problem.dae = Pendulum()
    return problem


def robertson(count):
    problem = compare_packages.robertson(count)
    problem.tolerances = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]
    problem.dae = Robertson()
    return problem


def transistor_amplifier(count):
    random = numpy.random.default_rng(3)
    nominal = {"Ub": 6.0, "UF": 0.026, "alpha": 0.99, "beta": 1e-6, "amplitude": 0.1, "frequency": 100.0, "R0": 1e3,
               **{f"R{k}": 9e3 for k in range(1, 10)}, **{f"C{k}": 1e-6 * k for k in range(1, 6)}}
    varied = [f"R{k}" for k in range(10)] + [f"C{k}" for k in range(1, 6)]
    parameters = {name: value * (random.uniform(0.8, 1.2, count) if name in varied else numpy.ones(count))
                  for name, value in nominal.items()}
    problem = compare_packages.Problem("transistor_amplifier", [f"u{k}" for k in range(1, 9)], parameters, {}, 0.2, [1.0] * 8,
                                       [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
    problem.dae = TransistorAmplifier()
    return problem


def instance(problem, k):
    return {name: float(values[k]) for name, values in problem.parameters.items()}


def solve_with_casadi(problem, rtol, count):
    import casadi

    dae = problem.dae
    scale = numpy.array(dae.scale)
    x0, z0 = dae.start(instance(problem, 0))
    x_scale, z_scale = scale[: len(x0)], scale[len(x0) :]
    t, x, z = casadi.SX.sym("t"), casadi.SX.sym("x", len(x0)), casadi.SX.sym("z", len(z0))
    symbols = {name: casadi.SX.sym(name) for name in problem.parameters}
    # Its atol is one number, so the variables are scaled.
    f, g = dae.equations(casadi, t, [x[i] * x_scale[i] for i in range(len(x0))], [z[i] * z_scale[i] for i in range(len(z0))],
                         symbols)
    system = {"t": t, "x": x, "z": z, "p": casadi.vertcat(*symbols.values()),
              "ode": casadi.vertcat(*[f[i] / x_scale[i] for i in range(len(f))]), "alg": casadi.vertcat(*g)}
    options = {"reltol": rtol, "abstol": rtol, "max_num_steps": 1_000_000, "calc_ic": True, "jit": True, "compiler": "shell",
               "jit_options": {"compiler": "gcc", "flags": ["-O3", "-march=native"]}}
    integrator = casadi.integrator("solver", "idas", system, 0.0, problem.t_end, options)
    values = numpy.full((count, len(problem.variables)), numpy.nan)
    seconds = 0.0
    for k in range(count):
        p = instance(problem, k)
        x0, z0 = dae.start(p)
        begin = time.perf_counter()
        try:
            end = integrator(x0=x0 / x_scale, z0=z0 / z_scale, p=list(p.values()))
        except RuntimeError:
            continue
        finally:
            seconds += time.perf_counter() - begin
        values[k] = dae.compared(numpy.array(end["xf"]).ravel() * x_scale, numpy.array(end["zf"]).ravel() * z_scale)
    return values, seconds


def solve_with_sundae(problem, rtol, count):
    from sksundae.ida import IDA

    dae = problem.dae
    x0, z0 = dae.start(instance(problem, 0))
    n = len(x0)
    algebraic = list(range(n, n + len(z0)))

    def residual(t, y, yp, res, p):
        f, g = dae.equations(math, t, y[:n], y[n:], p)
        for i in range(n):
            res[i] = yp[i] - f[i]
        res[n:] = g

    values = numpy.full((count, len(problem.variables)), numpy.nan)
    seconds = 0.0
    for k in range(count):
        p = instance(problem, k)
        x0, z0 = dae.start(p)
        begin = time.perf_counter()
        solver = IDA(residual, rtol=rtol, atol=rtol * numpy.array(dae.scale), algebraic_idx=algebraic, userdata=p,
                     calc_initcond="yp0", max_num_steps=1_000_000)
        y0 = numpy.array(x0 + z0)
        end = solver.solve(numpy.array([0.0, problem.t_end]), y0, numpy.zeros_like(y0))
        seconds += time.perf_counter() - begin
        if end.success:
            values[k] = dae.compared(end.y[-1][:n], end.y[-1][n:])
    return values, seconds


def pendulum_as_ode(numbers, y, p):
    rod_force = (y[2] * y[2] + y[3] * y[3] - p["g"] * y[1]) / (p["L"] * p["L"])
    return [y[2], y[3], -rod_force * y[0], -rod_force * y[1] - p["g"]]


def solve_with_diffrax(problem, rtol, count):
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    stiff = problem.model == "robertson"
    ode = (compare_packages.right_hand_side(problem, jax.numpy) if stiff
           else lambda t, y, p: jax.numpy.stack(pendulum_as_ode(jax.numpy, y, p)))
    controller = diffrax.PIDController(rtol=rtol, atol=jax.numpy.asarray(absolute_tolerances(problem, rtol)))
    method = diffrax.Kvaerno5() if stiff else diffrax.Dopri8()

    def one(y, p):
        return diffrax.diffeqsolve(diffrax.ODETerm(ode), method, 0.0, problem.t_end, None, y, p, saveat=diffrax.SaveAt(t1=True),
                                   stepsize_controller=controller, max_steps=100_000, throw=False).ys[0]

    solve = jax.jit(jax.vmap(one))
    starts = [sum(problem.dae.start(instance(problem, k)), []) for k in range(count)]
    y = jax.numpy.asarray(numpy.array(starts)[:, : len(problem.variables)])
    p = {name: jax.numpy.asarray(values[:count]) for name, values in problem.parameters.items()}
    solve(y, p).block_until_ready()
    begin = time.perf_counter()
    values = solve(y, p).block_until_ready()
    return numpy.asarray(values), time.perf_counter() - begin


def solve_with_heyoka(problem, rtol, count):
    import heyoka

    names = ["g", "L"]  # the starting angle is no parameter of the equations
    lanes = heyoka.recommended_simd_size()
    y = heyoka.make_vars(*problem.variables)
    p = {name: heyoka.par[i] for i, name in enumerate(names)}
    system = list(zip(y, pendulum_as_ode(heyoka, y, p)))
    starts = numpy.array([problem.dae.start(instance(problem, k))[0] for k in range(count)])
    integrator = heyoka.taylor_adaptive_batch(system, state=starts[:lanes].T.copy(), pars=numpy.ones((len(names), lanes)),
                                              tol=rtol)
    values = numpy.full_like(starts, numpy.nan)
    begin = time.perf_counter()
    for first in range(0, count - lanes + 1, lanes):
        those = slice(first, first + lanes)
        integrator.set_time(0.0)
        integrator.state[:] = starts[those].T
        integrator.pars[:] = [problem.parameters[name][those] for name in names]
        integrator.propagate_until(problem.t_end)
        values[those] = integrator.state.T
    return values, time.perf_counter() - begin


# Name, function, instances of all that it gets, and the problems that it can be given.
PACKAGES = {
    "casadi": (solve_with_casadi, 0.02, ["robertson", "pendulum", "transistor_amplifier"]),
    "sundae": (solve_with_sundae, 0.004, ["robertson", "pendulum", "transistor_amplifier"]),
    "diffrax": (solve_with_diffrax, 0.2, ["robertson", "pendulum"]),
    "heyoka": (solve_with_heyoka, 1.0, ["pendulum"]),
}

DISTRIBUTIONS = {"casadi": "casadi", "sundae": "scikit-sundae", "diffrax": "diffrax", "heyoka": "heyoka"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--command", default="build/release/manyfold", help="the manyfold command")
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()
    # One core for everything, and for the processes started from here.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    rows = []
    for make in (robertson, pendulum, transistor_amplifier):
        problem = make(arguments.instances)
        few = min(compare_packages.REFERENCE_INSTANCES, problem.count)
        reference, _ = solve_with_manyfold(problem, 1e-11, arguments.command, "cpu", count=few)
        solvers = {"manyfold auto": lambda rtol: solve_with_manyfold(problem, rtol, arguments.command, "cpu", method="auto")}
        for name in arguments.packages:
            solve, part, problems = PACKAGES[name]
            if problem.model in problems:
                count = max(16, round(part * problem.count))
                solvers[name] = lambda rtol, solve=solve, count=count: solve(problem, rtol, count)
        print(f"{problem.model}: {problem.count} instances to t = {problem.t_end:g}")
        print(f"{'solver':15} {'rtol':>8} {'median error':>13} {'instances/s':>12} {'instances':>10} {'failed':>7}")
        for name, solve in solvers.items():
            for rtol in problem.tolerances:
                values, seconds = solve(rtol)
                compared = min(few, len(values))
                difference = numpy.abs(values[:compared] - reference[:compared]) / (problem.scale + numpy.abs(reference[:compared]))
                row = {"problem": problem.model, "solver": name, "rtol": rtol,
                       "error": float(numpy.nanmedian(numpy.max(difference, axis=1))), "instances": len(values),
                       "seconds": seconds, "failed": int(numpy.sum(~numpy.isfinite(values[:compared]).all(axis=1)))}
                rows.append(row)
                print(f"{name:15} {rtol:8.0e} {row['error']:13.1e} {row['instances'] / seconds:12.4g} {row['instances']:10d} "
                      f"{row['failed']:7d}", flush=True)
        of = lambda name: [row for row in rows if row["problem"] == problem.model and row["solver"] == name]
        for error in (1e-4, 1e-5, 1e-6, 1e-7):
            ours = seconds_at(of("manyfold auto"), error)
            ratios = [f"{name} {seconds_at(of(name), error) / ours:.3g}" for name in solvers if name != "manyfold auto"]
            print(f"  times as fast at error {error:.0e}: " + ", ".join(ratios))
    if arguments.json:
        model = next(line.split(": ")[1] for line in open("/proc/cpuinfo") if line.startswith("model name"))
        versions = {name: importlib.metadata.version(DISTRIBUTIONS[name]) for name in arguments.packages}
        report = {"date": datetime.date.today().isoformat(), "processor": model.strip(), "versions": versions, "rows": rows}
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
