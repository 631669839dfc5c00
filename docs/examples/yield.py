import matplotlib.pyplot as plt
import xarray

result = xarray.open_dataset("yield.nc")
finished = result.status == 0
complete = result.reduce_1 == 1                        # 95 % of A has reacted
cool = result.event_first_time_too_hot.isnull()        # the event never occurred
good = finished & complete & cool

print(f"complete {float(complete.mean()):.3f}")
print(f"cool     {float(cool.mean()):.3f}")
print(f"yield    {float(good.mean()):.3f}")

figure, axes = plt.subplots(layout="constrained")
for label, which in [("good", good), ("too hot", ~cool), ("incomplete", ~complete)]:
    some = result.sel(instance=which).isel(instance=slice(400))
    axes.scatter(some.param_k, 1e3 * some.param_U, s=6, label=label)
axes.set(xlabel="rate constant at 400 K in 1/s", ylabel="heat transfer in 0.001/s")
figure.legend(loc="outside upper center", ncols=3)
figure.savefig("yield.svg")
