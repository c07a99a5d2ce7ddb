"""
Pixels as features
==================

Small pictures of handwritten digits, which come with scikit-learn: 64 pixels with values from 0 to
16. Pixels are never negative, so they can be taken as they are (``quadrant="identity"``): no
standardising, no transform, and a coefficient for every pixel that can be looked at.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skstretch import RandomNetwork, StretchyClassifierCV

X, y = load_digits(return_X_y=True)
pixels, new, digit, truth = train_test_split(X, y, train_size=400, stratify=y, random_state=0)

model = StretchyClassifierCV(quadrant="identity", cv=10).fit(pixels, digit)
print(f"right on {model.score(new, truth):.1%} of {len(truth)} new pictures")

# %%
# One against the rest: each digit has 64 coefficients. Blue pixels speak for the digit, red ones
# against it.

figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
limit = np.quantile(np.abs(model.coef_), 0.99)
for panel, row, name in zip(axes.flat, model.coef_, model.classes_, strict=True):
    panel.imshow(row.reshape(8, 8), cmap="RdBu", vmin=-limit, vmax=limit)
    panel.set(title=str(name), xticks=[], yticks=[])

# %%
# A linear model of pixels has its limits: it cannot say "this pixel, but only with that one". A
# hidden layer of random, untrained units in between (:class:`skstretch.RandomNetwork`) makes it
# curved, and the fit still needs no iteration. The outputs of the units are positive, so they too
# are taken as they are.

sizes = (100, 300, 1_000)
scores = []
for units in sizes:
    network = make_pipeline(
        RandomNetwork(n_units=units, random_state=0),
        StretchyClassifierCV(quadrant="identity", k_grid=(1.5, 2.0), cv=10),
    )
    scores.append(network.fit(pixels, digit).score(new, truth))
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.axhline(model.score(new, truth), color="0.5", ls="--", label="pixels alone")
axes.plot(sizes, scores, "o-", color="#1d5fa6", label="random units")
axes.set(xscale="log", xticks=sizes, xticklabels=sizes, xlabel="units", ylabel="share right")
axes.minorticks_off()
axes.legend(frameon=False)
