"""
From ridge towards the lasso, exactly
=====================================

At a = 0 the coefficients minimise

.. math:: \\sum_j |\\alpha_j|^k + 2c \\, \\lVert y - Z\\alpha - m \\rVert^2, \\qquad 1 < k \\le 2,

on the z-scores. k = 2 is ridge regression. As k falls towards 1 the penalty becomes that of the
lasso. Unlike the lasso's, the coefficients are never exactly zero for k > 1: they become very
small. And the answer comes with a certificate, ``dual_gap_``: how far the objective can be from
its minimum.

The data are generated: 60 samples, 200 features, ten of which matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import GridSearchCV

from skstretch import StretchyRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 200))
truth = np.zeros(200)
truth[:10] = np.linspace(2, 0.5, 10)
y = X @ truth + rng.normal(size=60)
new = rng.normal(size=(5_000, 200))
goal = new @ truth

powers = (2.0, 1.75, 1.5, 1.25, 1.1, 1.05)
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for k, shade in zip(powers, np.linspace(0, 0.85, len(powers)), strict=True):
    model = StretchyRegressor(k=k, c=0.05, a=0).fit(X, y)
    size = np.sort(np.abs(model.alpha_))[::-1]
    axes.plot(
        np.arange(1, 201), size / size[0], color=plt.colormaps["viridis"](shade), label=f"k = {k:g}"
    )
    print(f"k = {k:<4g} {model.n_iter_ or 0:3} steps, certificate {model.dual_gap_ or 0:.0e}")
axes.axvline(10, color="0.6", lw=1, ls="--")
axes.set(
    xscale="log",
    yscale="log",
    ylim=(1e-8, 1.5),
    xlabel="rank of the coefficient",
    ylabel="its size / the largest",
)
axes.legend(frameon=False, fontsize="small")
axes.set_title("The smaller k, the steeper the fall; ten features matter")

# %%
# Which k predicts best? With a sparse truth a small one; the lasso is close by. For each k the
# strength c is chosen by five folds.


def chosen(k):
    """The model of this k whose c is best by cross-validation."""
    strengths = {"c": np.logspace(-3, 1, 13)}
    return GridSearchCV(StretchyRegressor(k=k, a=0), strengths, cv=5).fit(X, y)


risk = {f"k = {k:g}": np.mean((chosen(k).predict(new) - goal) ** 2) for k in powers}
risk["lasso"] = np.mean((LassoCV(cv=10).fit(X, y).predict(new) - goal) ** 2)
risk["ridge"] = np.mean((RidgeCV(np.logspace(-3, 4, 50)).fit(X, y).predict(new) - goal) ** 2)
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
colors = ["#1d5fa6"] * len(powers) + ["#b8431a", "0.6"]
axes.bar(list(risk), list(risk.values()), color=colors)
axes.tick_params(axis="x", rotation=30)
axes.set(ylabel="mean squared error, new samples")
for name, value in risk.items():
    print(f"{name:9} {value:.2f}")
