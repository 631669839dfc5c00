import matplotlib.pyplot as plt
import xarray

figure, axes = plt.subplots()
for name in ["independent", "correlated"]:
    result = xarray.open_dataset(f"{name}.nc")
    peak = result.T.max("time")
    print(f"{name:11}  highest temperature {float(peak.mean()):.1f} K, standard deviation {float(peak.std()):.2f} K")
    axes.hist(peak, bins=50, range=(330, 390), histtype="step", label=name)
axes.set(xlabel="highest temperature in K", ylabel="instances")
axes.legend()
figure.savefig("correlated.svg")
