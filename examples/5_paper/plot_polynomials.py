"""
Polynomials of order 3 and 28 through twenty points
===================================================

Two classes of ten points in the plane, separated by polynomials of two variables. Of order 3 there
are ten monomials for twenty points, of order 28 there are 435. The paper's claim: with more points
than monomials the coefficients do not become sparse as k falls; with fewer points they do.

The paper does not print its points. These are drawn: two clouds that overlap a little.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstretch import StretchyClassifier

rng = np.random.default_rng(0)
points = np.clip(rng.normal(size=(20, 2)) * 0.13 + np.repeat([[0.4, 0.4], [0.6, 0.6]], 10, 0), 0, 1)
kind = np.repeat([-1, 1], 10)


def monomials(xy, order):
    """All x^i y^j with 1 <= i + j <= order: positive for points in the first quadrant."""
    pairs = [(i, n - i) for n in range(1, order + 1) for i in range(n + 1)]
    return np.column_stack([xy[:, 0] ** i * xy[:, 1] ** j for i, j in pairs])


grid = np.stack(np.meshgrid(np.linspace(0, 1, 120), np.linspace(0, 1, 120)), axis=-1)
figure, axes = plt.subplots(2, 2, figsize=(7, 6.6), layout="constrained", sharex=True, sharey=True)
for row, order in zip(axes, (3, 28), strict=True):
    for panel, k in zip(row, (2.0, 1.1), strict=True):
        model = StretchyClassifier(
            k=k, c=1e4, quadrant="identity", fit_intercept="column", threshold="zero"
        )
        model.fit(monomials(points, order), kind)
        score = model.decision_function(monomials(grid.reshape(-1, 2), order)).reshape(120, 120)
        panel.contourf(
            grid[..., 0], grid[..., 1], score > 0, levels=1, colors=["#fbe3d6", "#d9e6f2"]
        )
        for value, marker, color in ((-1, "s", "#b8431a"), (1, "o", "#1d5fa6")):
            panel.plot(*points[kind == value].T, marker, color=color, ms=5)
        size = np.abs(np.append(model.alpha_, model.intercept_))
        strong = int((size >= 0.01 * size.max()).sum())
        panel.set_title(f"order {order}, k = {k:g}: {strong} of {size.size} coefficients")

# %%
# The titles count the coefficients of at least one hundredth of the largest. Of order 28 the count
# falls steeply from k = 2 to k = 1.1; of order 3 it does not.
