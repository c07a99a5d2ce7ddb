"""
Is there anything to predict?
=============================

A permutation test answers with a p-value: shuffle y, search again, and see how often shuffled data
score as well as the true ones. scikit-learn's ``permutation_test_score`` does it with the whole
search inside, so that nothing is flattered by the choice of settings. Because a search is exact
without refits, hundreds of them take seconds.

The data are the first 50 patients of the diabetes data, which come with scikit-learn.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, permutation_test_score

from skstretch import StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning

warnings.simplefilter("ignore", GridEdgeWarning)  # shuffled targets ask for ever more penalty
X, y = load_diabetes(return_X_y=True)
X, y = X[:50], y[:50]
search = StretchyRegressorCV((-0.2,), (1.5, 2.0), np.logspace(-4, 2, 7), rule="best")
folds = KFold(3, shuffle=True, random_state=0)

score, shuffled, pvalue = permutation_test_score(
    search, X, y, cv=folds, n_permutations=100, random_state=0
)
print(f"R² {score:.3f}, p = {pvalue:.3f}")

# %%
# The grey bars are what a search makes of shuffled targets.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(shuffled, bins=25, color="0.75", label="shuffled targets")
axes.axvline(score, color="#b8431a", lw=2, label="true targets")
axes.set(xlabel="R² on samples that were left out", ylabel="permutations")
axes.legend(frameon=False, loc="upper left")

# %%
# The same on targets that have nothing to do with the features: the p-value is no reason to
# celebrate, and it should not be.

noise = np.random.default_rng(1).normal(size=50)
score, shuffled, pvalue = permutation_test_score(
    search, X, noise, cv=folds, n_permutations=100, random_state=0
)
print(f"noise: R² {score:.3f}, p = {pvalue:.3f}")
