import matplotlib.pyplot as plt
import numpy as np
import xarray


def wilson(share, count, z=1.96):
    """The Wilson score interval of a share observed in `count` independent trials; z = 1.96 for 95 %."""
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return centre - half, centre + half


result = xarray.open_dataset("probability.nc")
events = result.event_kind.attrs["flag_meanings"].split()
probability = result.event_probability.isel(event_kind=events.index("too_hot"))
low, high = wilson(probability, result.sizes["instance"])
end = {"time": -1}
print(f"probability {float(probability[end]):.4f}, 95 % interval {float(low[end]):.4f} to {float(high[end]):.4f}")

figure, axes = plt.subplots()
axes.fill_between(result.time / 60, low, high, alpha=0.3, label="95 % interval")
axes.plot(result.time / 60, probability, label="estimate")
axes.set(xlabel="time in minutes", ylabel="probability that the reactor was too hot", xlim=(0, 60))
axes.legend()
figure.savefig("probability.svg")
