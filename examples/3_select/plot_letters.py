"""
The letters a, k, c and density
===============================

The parameters keep the letters of the paper. Each has one picture here.

The data are generated: 40 samples of 120 features along an axis; the target is made by two narrow
bands of features, with noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstretch import StretchyRegressor

rng = np.random.default_rng(3)
M, D = 40, 120
smooth = np.exp(-0.5 * ((np.arange(D)[:, None] - np.arange(D)) / 2.0) ** 2)
X = rng.normal(size=(M, D)) @ (smooth / np.linalg.norm(smooth, axis=0))
truth = np.zeros(D)
truth[28:33], truth[80:85] = 1.0, -0.6
y = X @ truth + 0.5 * rng.normal(size=M)
PALETTE = plt.colormaps["viridis"](np.linspace(0, 0.85, 4))

# %%
# **a** bends the features. Every column is standardised to z-scores, then mapped to ``exp(a z)``,
# which is always positive. With a = −0.2 the curve is nearly straight where data usually lie; a = 0
# stands for no bending at all: the z-scores themselves.

z = np.linspace(-3, 3, 200)
figure, axes = plt.subplots(figsize=(5.4, 3), layout="constrained")
for a, color in zip((-0.8, -0.5, -0.2, 0.2), PALETTE, strict=True):
    axes.plot(z, np.exp(a * z), color=color, label=f"a = {a:g}")
axes.axvspan(-2, 2, color="0.93", lw=0, zorder=0)
axes.set(xlabel="z-score (19 of 20 values lie in the grey part)", ylabel="exp(a z)", ylim=(0, 6))
axes.legend(frameon=False)

# %%
# **k** is the stretching power. k = 2 is ridge regression: all features share the weight. The
# smaller k, the more of it gathers on few features. The picture shows linear models (a = 0), where
# k is the power of the penalty; grey bands mark the features that made the target.

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for k, color in zip((2.0, 1.5, 1.2, 1.05), PALETTE, strict=True):
    model = StretchyRegressor(k=k, c=0.02, a=0).fit(X, y)
    axes.plot(model.coef_ * X.std(axis=0), color=color, label=f"k = {k:g}")
for first, last in ((28, 32), (80, 84)):
    axes.axvspan(first, last, color="0.9", lw=0, zorder=0)
axes.set(xlabel="feature", ylabel="effect of one deviation")
axes.legend(frameon=False)

# %%
# **c** is how much the fit counts against the size of the coefficients: small c, small
# coefficients; large c, a close fit. With more features than samples the fit can be perfect on the
# training data and poor on new samples, so c is what cross-validation is most about.

new = rng.normal(size=(2_000, D)) @ (smooth / np.linalg.norm(smooth, axis=0))
goal = new @ truth
strengths = np.logspace(-4, 4, 25)
models = [StretchyRegressor(k=2, c=c, a=0).fit(X, y) for c in strengths]
figure, axes = plt.subplots(figsize=(5.4, 3), layout="constrained")
for name, features, target, style in (("training", X, y, "--"), ("new samples", new, goal, "-")):
    errors = [np.mean((model.predict(features) - target) ** 2) for model in models]
    axes.plot(strengths, errors, style, color="#1d5fa6", label=name)
axes.set(xscale="log", xlabel="c", ylabel="mean squared error")
axes.legend(frameon=False)

# %%
# **density** keeps a share (or a number) of the features: those with the largest coefficients. A
# second fit uses these alone, and all others have a coefficient of exactly zero.

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for density, color in zip((1.0, 0.5, 20, 10), PALETTE, strict=True):
    model = StretchyRegressor(k=1.5, c=0.5, a=0, density=density).fit(X, y)
    kept = np.flatnonzero(model.support_)
    effect = model.coef_ * X.std(axis=0)
    text = f"density = {density!r}: {kept.size} features"
    axes.plot(kept, effect[kept], "o", ms=3.5, color=color, label=text)
axes.axhline(0, color="0.7", lw=0.8)
for first, last in ((28, 32), (80, 84)):
    axes.axvspan(first, last, color="0.9", lw=0, zorder=0)
axes.set(xlabel="feature", ylabel="effect of one deviation")
axes.legend(frameon=False, fontsize="small")
