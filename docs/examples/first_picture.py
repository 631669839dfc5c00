import matplotlib.pyplot as plt
import xarray

result = xarray.open_dataset("build/robertson.nc")
figure, axes = plt.subplots()
axes.fill_between(result.time, *result.y2_quantile, alpha=0.3, label="5 % to 95 %")
axes.plot(result.time, result.y2_mean, label="mean")
axes.set(xscale="log", xlabel="time in s", ylabel="y2")
axes.legend()
figure.savefig("build/y2.svg")
