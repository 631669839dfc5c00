import matplotlib.pyplot as plt
import xarray

result = xarray.open_dataset("failures.nc")
names = result.status.attrs["flag_meanings"].split()
figure, axes = plt.subplots(layout="constrained")
for code, name in enumerate(names):
    some = result.isel(instance=(result.status == code).values)
    if some.sizes["instance"] == 0:
        continue
    print(f"{some.sizes['instance']:5} {name}")
    axes.scatter(some.param_inflow, some.param_pump, s=6, label=name)
    if name != "success":
        first = some.isel(instance=0)
        print(f"      t_reached {float(first.t_reached):.4g} with"
              f" inflow {float(first.param_inflow):.6g}, pump {float(first.param_pump):.6g}")
axes.set(xlabel="inflow in m/s", ylabel="pump in m/s")
figure.legend(loc="outside upper center", ncols=3)
figure.savefig("failures.svg")
