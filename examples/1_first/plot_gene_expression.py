"""
Two types of tumour from gene expression
========================================

72 patients, 3,000 genes, two types of tumour: far more features than samples, which is where this
library is at home.

The data are generated, by this recipe: twelve groups of genes rise and fall together (they share
a hidden factor for each patient); 15 genes of one group and 15 of another are higher in the
second type by 1.6 standard deviations of noise; all other genes know nothing of the type.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import balanced_accuracy_score, log_loss

from skstretch import StretchyClassifierCV

GENES, GROUPS = 3_000, 12


def patients(count, seed):
    """Expression of `count` patients, and the type of their tumour."""
    weights = np.random.default_rng(0).normal(size=(GROUPS, GENES))
    weights *= np.arange(GENES) % GROUPS == np.arange(GROUPS)[:, None]
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(count) % 2)
    expression = rng.normal(size=(count, GROUPS)) @ weights + rng.normal(size=(count, GENES))
    expression[:, : 15 * GROUPS : GROUPS] += 1.6 * kind[:, None]
    expression[:, 1 : 15 * GROUPS : GROUPS] += 1.6 * kind[:, None]
    return expression, np.array(["type A", "type B"])[kind]


X, y = patients(72, seed=1)
new, truth = patients(1_000, seed=2)
informative = np.zeros(GENES, dtype=bool)
informative[: 15 * GROUPS : GROUPS] = informative[1 : 15 * GROUPS : GROUPS] = True

model = StretchyClassifierCV().fit(X, y)
print(model.summary())

# %%
# On a thousand new patients:

proba = model.predict_proba(new)
print(f"balanced accuracy {balanced_accuracy_score(truth, model.predict(new)):.3f}")
print(f"log loss          {log_loss(truth, proba):.3f} (tossing a coin: {np.log(2):.3f})")

# %%
# Probabilities are learned from scores of patients that were left out, so that they mean what they
# say: of those to whom the model gives 80 %, about 80 % should have the second type.

figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
CalibrationDisplay.from_predictions(truth == "type B", proba[:, 1], n_bins=8, ax=axes)
axes.set_title("1,000 new patients")

# %%
# Which genes? The figure shows the effect of one standard deviation of each gene; the 30 genes
# that differ by the recipe are marked. Genes of the same group stand in for each other, so a model
# can be right about the type and still spread its weight.

effect = model.coef_ * X.std(axis=0)
rank = np.argsort(-np.abs(effect))
found = informative[rank[:30]].sum()
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(
    np.flatnonzero(~informative), effect[~informative], ".", color="0.75", ms=3, label="others"
)
axes.plot(
    np.flatnonzero(informative), effect[informative], "o", color="#b8431a", ms=4, label="differ"
)
axes.axhline(0, color="0.5", lw=0.8)
axes.set(
    xlabel="gene", ylabel="effect of one deviation", title=f"{found} of the strongest 30 differ"
)
axes.legend(frameon=False, ncols=2)
