"""
A million columns
=================

Counts of words, presence of k-mers, clicks on pages: tables with a million columns, nearly all
entries zero. As a dense array of this size the data below would take several gigabytes. They go in
as a scipy sparse matrix and stay one.

The data are generated: 400 samples with about 300 entries each in 1,000,000 columns; the first
hundred columns, which are filled more often, decide the class.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from skstretch import StretchyClassifier

COLUMNS, DECIDING = 1_000_000, 100


def draw(count, seed):
    """A sparse table, and classes made by its first columns."""
    rng = np.random.default_rng(seed)
    noise = sparse.random(count, COLUMNS - DECIDING, density=3e-4, format="csc", rng=rng)
    signal = sparse.random(count, DECIDING, density=0.2, format="csc", rng=rng)
    effects = np.linspace(1, -1, DECIDING)
    score = signal @ effects + 0.2 * rng.normal(size=count)
    return sparse.hstack([signal, noise], format="csc"), (score > 0).astype(int)


X, y = draw(400, seed=0)
new, truth = draw(400, seed=1)
stored = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
print(f"{X.shape[0]} x {X.shape[1]:,}: {X.nnz:,} entries, {stored:.0f} MiB stored")
print(f"as a dense array: {8 * np.prod(X.shape) / 2**30:.1f} GiB")

# %%
# ``quadrant="identity"`` takes counts and other data that are never negative as they are. One fit:

start = perf_counter()
model = StretchyClassifier(k=2.0, c=1.0, quadrant="identity").fit(X, y)
seconds = perf_counter() - start
print(f"fitted in {seconds:.1f} s, leave-one-out scores for its probabilities included")
area = roc_auc_score(truth, model.predict_proba(new)[:, 1])
print(f"area under the ROC curve, new samples: {area:.3f}")

# %%
# The first hundred coefficients follow the effects that made the classes; the other 999,900 scatter
# around zero.

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
rest = np.random.default_rng(2).choice(np.arange(DECIDING, COLUMNS), 400, replace=False)
axes.plot(model.coef_[:DECIDING], "o", ms=4, color="#1d5fa6", label="columns that decide")
axes.plot(
    np.linspace(0, 99, 400), model.coef_[rest], ".", ms=3, color="0.7", label="400 of the others"
)
axes.axhline(0, color="0.5", lw=0.8)
axes.set(xlabel="column, by the effect that it had", ylabel="coefficient")
axes.legend(frameon=False)
