"""
What a search finds in pure noise
=================================

Try enough settings and one of them looks good, even where there is nothing to find. Here y has
nothing to do with X; the score of the chosen setting should say so. How optimistic is it?

The data are generated: 30 samples, 100 features, all independent normal numbers.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import KFold, cross_val_predict

from skstretch import StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning

warnings.simplefilter("ignore", GridEdgeWarning)  # noise asks for ever more penalty

seen, outer = [], []
for seed in range(20):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 100)), rng.normal(size=30)
    search = StretchyRegressorCV(a_grid=(-0.2,), rule="best")
    search.fit(X, y)
    knowing_nothing = np.mean((y - (y.sum() - y) / 29) ** 2)
    seen.append(-search.best_score_ / knowing_nothing)
    folds = KFold(5, shuffle=True, random_state=seed)
    predicted = cross_val_predict(search, X, y, cv=folds)
    means = cross_val_predict(DummyRegressor(), X, y, cv=folds)
    outer.append(np.mean((y - predicted) ** 2) / np.mean((y - means) ** 2))

# %%
# Errors over that of answering the mean: 1 is the truth here. The chosen cell's own score is below
# it again and again, because the choice looked at it. Predicted by searches that never saw the
# sample (outer folds), the error is what it should be: not below 1.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(
    [seen, outer],
    bins=15,
    label=["score of the chosen cell", "outer folds"],
    color=["#b8431a", "#1d5fa6"],
)
axes.axvline(1, color="black", ls="--", lw=1)
axes.set(xlabel="error / error of answering the mean", ylabel="simulated sets")
axes.legend(frameon=False)
print(f"chosen cell: {np.mean(seen):.3f} on average, below 1 in {np.mean(np.array(seen) < 1):.0%}")
print(
    f"outer folds: {np.mean(outer):.3f} on average, below 1 in {np.mean(np.array(outer) < 1):.0%}"
)
