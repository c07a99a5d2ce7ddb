"""
A cluster
=========

Dask arrays go in as they are, an ordinary model comes out. The blocks of the features stay with the
workers; what travels are small square sums. Here the cluster is two workers on this machine; a
client of a real cluster would be used in the same way.

The data are generated on the workers: 150 samples, 40,000 features in blocks of 5,000.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from skstretch import StretchyRegressorCV

cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, memory_limit="1GiB"
)
client = Client(cluster)

X = da.random.default_rng(0).standard_normal((150, 40_000), chunks=(-1, 5_000))
effects = np.zeros(40_000)
effects[:20] = 1.0
y = (X @ effects + da.random.default_rng(1).standard_normal(150, chunks=-1)).compute()
print(f"{X.shape[0]} x {X.shape[1]:,} in {X.npartitions} blocks, {X.nbytes / 2**20:.0f} MiB")

# %%
# The whole search reads the blocks twice, however many candidates its grid has.

grid = {"a_grid": (-0.2,), "k_grid": (1.25, 1.5, 2.0), "c_grid": np.logspace(-4, 4, 9)}
model = StretchyRegressorCV(**grid, combine="best").fit(X[:100], y[:100])
print(
    f"chosen k = {model.k_:g}, c = {model.c_:g}; the model is local: {type(model.coef_).__name__}"
)

# %%
# Predictions of a Dask array are lazy: nothing is computed until it is asked for.

lazy = model.predict(X[100:])
print(lazy)
predicted = lazy.compute()

# %%
# The same model from the same numbers in memory:

local = StretchyRegressorCV(**grid, combine="best").fit(X[:100].compute(), y[:100])
difference = np.abs(local.predict(X[100:].compute()) - predicted).max()
print(f"largest difference of the predictions: {difference:.0e}")

figure, axes = plt.subplots(figsize=(4.6, 4), layout="constrained")
axes.axline((0, 0), slope=1, color="0.6", lw=1)
axes.plot(y[100:], predicted, "o", color="#1d5fa6", ms=4)
axes.set(xlabel="observed", ylabel="predicted", title="50 samples that were not fitted")
client.close()
cluster.close()
