import matplotlib.pyplot as plt
import xarray

result = xarray.open_dataset("probability.nc")
events = result.event_kind.attrs["flag_meanings"].split()
too_hot = {"event_kind": events.index("too_hot")}
probability = result.event_probability.isel(too_hot)
low = result.event_probability_low.isel(too_hot)
high = result.event_probability_high.isel(too_hot)
end = {"time": -1}
print(f"probability {float(probability[end]):.4f}, 95 % interval {float(low[end]):.4f} to {float(high[end]):.4f}")

figure, axes = plt.subplots()
axes.fill_between(result.time / 60, low, high, alpha=0.3, label="95 % interval")
axes.plot(result.time / 60, probability, label="estimate")
axes.set(xlabel="time in minutes", ylabel="probability that the reactor was too hot", xlim=(0, 60))
axes.legend()
figure.savefig("probability.svg")
