"""
Is there anything to predict?
=============================

A permutation test answers with a p-value: shuffle y, search again, and see how often a search on
shuffled targets does as well as the search on the true ones. If it often does, the model has found
nothing. A thousand searches take a moment, because the errors of left-out samples are linear in y
for most models: one set of matrices serves all shuffled targets.

The data are the first 50 patients of the diabetes data, which come with scikit-learn.
"""

import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skstretch import StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning

warnings.simplefilter("ignore", GridEdgeWarning)  # noise asks for ever more penalty
X, y = load_diabetes(return_X_y=True)
X, y = X[:50], y[:50]
noise = np.random.default_rng(1).normal(size=50)

# %%
# The test is made twice: for the progress of the disease, and for a target that has nothing to do
# with the features.

figure, axes = plt.subplots(1, 2, figsize=(7.4, 3), layout="constrained")
for panel, target, title in zip(axes, (y, noise), ("disease", "pure noise"), strict=True):
    model = StretchyRegressorCV(a_grid=(-0.2,)).fit(X, target)
    start = perf_counter()
    test = model.permutation_test(1_000, random_state=0)
    print(f"{title:11} {test} ({perf_counter() - start:.1f} s)")
    panel.hist(test.null_distribution, bins=30, color="0.75", label="shuffled")
    panel.axvline(test.statistic, color="#b8431a", lw=2, label="true")
    panel.set(title=f"{title}: p = {test.pvalue:.3f}", xlabel="score, greater is better")
    panel.locator_params(axis="x", nbins=4)
    panel.legend(frameon=False, fontsize="small", loc="upper center")

# %%
# Left: hardly any shuffled target is predicted as well as the true one. Right: on noise the true
# target is one among many, as it should be.
