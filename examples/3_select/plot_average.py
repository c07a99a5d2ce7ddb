"""
Averaging instead of choosing
=============================

Do many features matter or only a few, and are their effects straight or curved? With 60 samples
nobody can tell for sure, and a search that must pick one answer is often wrong by chance. The
default does not pick: it averages the best models of all kinds, and the better a model predicts
samples that were left out, the larger its share.

The data are generated, 60 samples of 150 features, in three ways: all features matter a little
("dense"), five matter ("sparse"), eight matter and their effects are curved ("curved").
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV, RidgeCV

from skstretch import StretchyRegressorCV
from skstretch.exceptions import GridEdgeWarning

warnings.simplefilter("ignore", GridEdgeWarning)
M, D = 60, 150


def draw(kind, count, rng):
    """Features, and the target without noise."""
    X = rng.normal(size=(count, D))
    if kind == "dense":
        return X, X @ (np.cos(np.arange(D)) / 6)
    if kind == "sparse":
        return X, X[:, :5] @ np.array([2.0, -1.5, 1.0, 1.0, -1.0])
    return X, 4 * np.exp(-0.4 * X[:, :8]).mean(axis=1)


# %%
# Four methods on each kind: our default, which averages; the same search made to choose one model;
# ridge regression; the lasso. The error is measured on 2,000 new samples and divided by the
# variance of what is to be predicted: 1 is what answering the mean would give. One set of 60
# samples can be lucky for any method, so the errors are means over five sets.

KINDS, METHODS = ("dense", "sparse", "curved"), ("average", "choose one", "ridge", "lasso")
errors = np.zeros((len(KINDS), len(METHODS)))
for row, kind in enumerate(KINDS):
    for seed in range(5):
        rng = np.random.default_rng([row, seed])
        X, clean = draw(kind, M, rng)
        y = clean + 0.5 * clean.std() * rng.normal(size=M)
        new, truth = draw(kind, 2_000, rng)
        models = (
            StretchyRegressorCV(),
            StretchyRegressorCV(combine="best"),
            RidgeCV(np.logspace(-2, 5, 50)),
            LassoCV(cv=10),
        )
        for column, model in enumerate(models):
            predicted = model.fit(X, y).predict(new)
            errors[row, column] += np.mean((predicted - truth) ** 2) / truth.var() / 5
    print(f"{kind:7}", "  ".join(f"{n} {e:.3f}" for n, e in zip(METHODS, errors[row], strict=True)))
lost = (errors - errors.min(axis=1, keepdims=True)).max(axis=0)
print("most lost to the best of the four:", dict(zip(METHODS, lost.round(3).tolist(), strict=True)))

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for column, (name, color) in enumerate(
    zip(METHODS, ("#1d5fa6", "#80acd3", "0.7", "#e69f00"), strict=True)
):
    place = np.arange(len(KINDS)) + 0.2 * column - 0.3
    axes.bar(place, errors[:, column], width=0.18, color=color, label=name)
axes.axhline(1, color="0.5", lw=0.8, ls="--")
axes.set(xticks=range(len(KINDS)), xticklabels=KINDS, ylabel="error / variance")
figure.legend(frameon=False, ncols=4, loc="outside upper center")

# %%
# Ridge is made for data in which all features matter, the lasso for data in which few do. There
# each is hard to beat; the last printed line says what it can cost on other data. A search over all
# kinds of models need not guess. On sets as clear-cut as the sparse ones choosing one model can be
# better than averaging; that averaging is the default was decided on real data (:doc:`/rules`).
#
# ``weights_`` is the table of what was averaged: the bend a, the power k (2 is ridge regression,
# close to 1 is like the lasso), how many features were kept, and the share. Here for the last
# set, whose effects are curved. Its strongest members:

model = StretchyRegressorCV(nested_cv=10).fit(X, y)
table = model.weights_
for i in range(min(6, len(table["weight"]))):
    a, k, density = (table[name][i] for name in ("a", "k", "density"))
    kept = "all features" if density == 1 else f"{density:g} features"
    print(f"{np.ravel(table['weight'][i])[0]:5.0%}  a = {a:g}, k = {k:g}, {kept}")

# %%
# How good is it, without any new sample? ``best_score_`` comes from left-out samples that also
# helped to choose the shares, so it is a little too good. For ``nested_score_`` the whole search
# was repeated without each tenth of the samples (``nested_cv=10``).

error = np.mean((model.predict(new) - truth) ** 2) + (0.5 * clean.std()) ** 2
print(f"mean squared error: plain {-model.best_score_:.3f}, nested {-model.nested_score_:.3f}")
print(f"on new samples, with the same noise: {error:.3f}")
