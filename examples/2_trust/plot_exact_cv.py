"""
Cross-validation without a single refit
=======================================

Leave-one-out cross-validation usually takes one fit per sample. For ridge regression and the curved
models of this library it takes none: the residual of a sample under the model that never saw it is
``beta_i / G_ii``, two numbers that the fit already has. This example computes both ways and
compares.

The data are generated: 40 samples of 300 features, of which five matter.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from skstretch import StretchyRegressor, StretchyRegressorCV

rng = np.random.default_rng(0)
X = np.exp(0.2 * rng.normal(size=(40, 300)))
y = X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=40)

# %%
# The features are positive and are taken as they are, so that a model without sample i uses the
# very same numbers. (With the default transform the z-scores are those of all samples; the
# identity is exact given them.)

settings = dict(quadrant="identity", c_grid=np.logspace(-2, 6, 9), k_grid=(1.25, 1.5, 2.0))
start = perf_counter()
model = StretchyRegressorCV(**settings, combine="best").fit(X, y)
searched = perf_counter() - start

start = perf_counter()
literal = np.empty(40)
for i in range(40):
    rest = np.arange(40) != i
    one = StretchyRegressor(k=model.k_, c=model.c_, quadrant="identity").fit(X[rest], y[rest])
    literal[i] = one.predict(X[[i]])[0]
refitted = perf_counter() - start

candidates = len(model.cv_results_["param_k"])
difference = np.abs(model.cv_predictions_ - literal).max()
print(f"the whole grid of {candidates} candidates, exact leave one out: {searched:.3f} s")
print(f"40 literal refits of one candidate:                      {refitted:.3f} s")
print(f"largest difference of the predictions: {difference:.1e}")
assert difference < 1e-9

# %%
# Every point lies on the line: the two ways give the same number for every sample.

figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
axes.axline((y.mean(), y.mean()), slope=1, color="0.6", lw=1)
axes.plot(literal, model.cv_predictions_, "o", color="#1d5fa6", ms=5)
axes.set(
    xlabel="predicted by a model fitted without the sample",
    ylabel="by the formula, without a refit",
)
axes.set_title("40 samples, left out one at a time")

# %%
# The cost of a search therefore hardly depends on the number of folds:

for name, cv in (("leave one out", None), ("ten folds", 10), ("two folds", 2)):
    start = perf_counter()
    StretchyRegressorCV(**settings, cv=cv, combine="best").fit(X, y)
    print(f"{name:14} {perf_counter() - start:.3f} s")
