import matplotlib.pyplot as plt
import xarray

result = xarray.open_dataset("charger.nc")
low, high = (result.u_quantile.isel(quantile=i) for i in (0, 1))
print(f"after {float(result.time[-1]):.2f} s: {float(result.u_mean[-1]):.2f} V on average, "
      f"nine of ten between {float(low[-1]):.2f} and {float(high[-1]):.2f} V")

figure, axes = plt.subplots()
axes.fill_between(result.time, low, high, color="C0", alpha=0.3, label="5 % to 95 %")
axes.plot(result.time, result.u_mean, color="C0", label="mean")
axes.set(xlabel="time in s", ylabel="voltage of the capacitor in V")
axes.legend()
figure.savefig("charger.svg")
