import matplotlib.pyplot as plt
import xarray

result = xarray.open_dataset("fan.nc")
minutes = result.time / 60
level = {round(float(q), 2): result.T_quantile.isel(quantile=i) for i, q in enumerate(result["quantile"])}
hottest = int(level[0.95].argmax("time"))
print(f"at {float(minutes[hottest]):.0f} minutes: median {float(level[0.5][hottest]):.1f} K, "
      f"95 % quantile {float(level[0.95][hottest]):.1f} K")

figure, axes = plt.subplots()
axes.fill_between(minutes, level[0.05], level[0.95], color="C0", alpha=0.2, label="5 % to 95 %")
axes.fill_between(minutes, level[0.25], level[0.75], color="C0", alpha=0.4, label="25 % to 75 %")
axes.plot(minutes, level[0.5], color="C0", label="median")
axes.axhline(370, color="C3", linestyle="--", label="limit")
axes.set(xlabel="time in minutes", ylabel="temperature in K")
axes.legend()
figure.savefig("fan.svg")
