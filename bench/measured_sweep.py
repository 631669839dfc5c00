"""The sweep that benchmarks run: one parameter of a model varies, one thread integrates."""

import pathlib

SWEEP = """model = "{model}"
[solver]
method = "{method}"
rtol = 1e-6
atol = 1e-9
threads = 1
backend = "cpu"
{solver}
[ensemble]
instances = {instances}
seed = 1
[parameters]
{parameter} = {{ distribution = "uniform", min = {low}, max = {high} }}
[output]
file = "measured.nc"
{output}
"""


def write_sweep(folder, model, method, parameter, low, high, instances, output='times = "end"', solver=""):
    """Writes sweep.toml into `folder`; `solver` and `output` are further lines of their sections."""
    pathlib.Path(folder, "sweep.toml").write_text(
        SWEEP.format(model=model, method=method, parameter=parameter, low=low, high=high, instances=instances,
                     output=output, solver=solver))
