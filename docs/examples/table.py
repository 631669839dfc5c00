import numpy as np

# The uncertainty of k and E after a fit: standard deviations of ln k and E, and their correlation.
sigma = np.array([0.15, 4e3])
correlation = 0.9
covariance = np.outer(sigma, sigma) * [[1, correlation], [correlation, 1]]

random = np.random.default_rng(1)
log_k, E = random.multivariate_normal([np.log(0.031), 8e4], covariance, size=2000).T
np.savetxt("correlated.csv", np.column_stack([np.exp(log_k), E]), delimiter=",", header="k,E", comments="")
random.shuffle(E)                                      # the same numbers, paired at random
np.savetxt("independent.csv", np.column_stack([np.exp(log_k), E]), delimiter=",", header="k,E", comments="")
