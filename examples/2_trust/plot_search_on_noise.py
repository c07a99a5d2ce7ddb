"""
What a search finds in pure noise
=================================

Try enough settings and one of them looks good, even where there is nothing to find. Here y has
nothing to do with X, and a score to trust says so. ``best_score_`` is measured on left-out samples
that also guided the choice of settings and shares. For ``nested_score_`` the whole search is
repeated without each tenth of the samples (``nested_cv=10``), which it then predicts.

The data are generated: 30 samples, 100 features, all independent normal numbers.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from skstretch import StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning

warnings.simplefilter("ignore", GridEdgeWarning)  # noise asks for ever more penalty

plain, nested = [], []
for seed in range(40):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 100)), rng.normal(size=30)
    model = StretchyRegressorCV(a_grid=(-0.2,), n_features_to_select=1.0, nested_cv=10).fit(X, y)
    mean_alone = np.mean((y - (y.sum() - y) / 29) ** 2)  # each sample by the mean of the others
    plain.append(-model.best_score_ / mean_alone)
    nested.append(-model.nested_score_ / mean_alone)

# %%
# Errors divided by that of answering the mean. There is nothing to find here, so no method can be
# below 1 except by chance.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist(
    [plain, nested], bins=15, label=["best_score_", "nested_score_"], color=["#b8431a", "#1d5fa6"]
)
axes.axvline(1, color="black", ls="--", lw=1)
axes.set(xlabel="error / error of answering the mean", ylabel="simulated sets")
axes.legend(frameon=False)
for name, found in (("best_score_", plain), ("nested_score_", nested)):
    error = np.std(found) / np.sqrt(len(found))
    print(f"{name:14} {np.mean(found):.3f} ± {error:.3f} on average")
