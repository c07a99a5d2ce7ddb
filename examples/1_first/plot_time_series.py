"""
Signals, by thousands of small filters
======================================

A strong recipe for classes of signals: pass each signal through many fixed filters, note how often
the result is positive, and let a linear model find out which of these thousands of numbers matter
(Dempster, Schmidt and Webb call it MiniRocket). The linear model is usually ridge regression; ours
takes its place, and has probabilities.

The features below are made in the manner of MiniRocket with its 84 filters of length nine, in a
few lines of numpy. With the package aeon,
``MiniRocketClassifier(estimator=StretchyClassifierCV())`` does the same.

The signals are generated: noise with a slow wave, and in the second class a short chirp somewhere.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyClassifierCV

LENGTH = 200


def signals(count, seed):
    """Noise with a slow wave; the second class has a chirp of 40 steps, anywhere."""
    rng = np.random.default_rng(seed)
    steps = np.arange(LENGTH)
    period, phase = rng.uniform(60, 120, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    X = np.sin(2 * np.pi * steps / period + phase) + rng.normal(size=(count, LENGTH))
    y = np.arange(count) % 2
    chirp = 2.5 * np.hanning(40) * np.sin(np.linspace(0, 6, 40) ** 2)
    for row in np.flatnonzero(y):
        start = rng.integers(0, LENGTH - 40)
        X[row, start : start + 40] += chirp
    return X, y


def filtered(X, places, dilation):
    """Signals after the filter with weight 2 at three places of nine, and -1 at the others."""
    padded = np.pad(X, ((0, 0), (4 * dilation, 4 * dilation)))
    out = np.zeros_like(X)
    for place in range(9):
        part = padded[:, place * dilation : place * dilation + LENGTH]
        out += (2.0 if place in places else -1.0) * part
    return out


def share_positive(X, biases):
    """How often each filter, less its bias, is positive. Biases come from the training signals."""
    filters = [(p, d) for d in (1, 2, 4, 8, 16) for p in combinations(range(9), 3)]
    learn = not biases
    columns = []
    for number, (places, dilation) in enumerate(filters):
        out = filtered(X, places, dilation)
        if learn:
            biases[number] = np.quantile(out, (0.25, 0.5, 0.75, 0.9))
        columns += [(out > bias).mean(axis=1) for bias in biases[number]]
    return np.column_stack(columns)


X, y = signals(120, seed=0)
new, truth = signals(400, seed=1)
biases = {}
features, new_features = share_positive(X, biases), share_positive(new, biases)
print(f"{features.shape[0]} signals, {features.shape[1]:,} features each")

figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for row, color in ((0, "0.6"), (1, "#b8431a")):
    axes.plot(X[row] + 6 * row, color=color, lw=1)
axes.set(yticks=[0, 6], yticklabels=["no chirp", "chirp"], xlabel="time", title="One of each class")

# %%
# Ridge regression on these features is the usual choice. It has no probabilities.

ridge = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-3, 3, 10)))
ridge.fit(features, y)
model = StretchyClassifierCV().fit(features, y)
print(f"RidgeClassifierCV     accuracy {accuracy_score(truth, ridge.predict(new_features)):.3f}")
print(f"StretchyClassifierCV  accuracy {accuracy_score(truth, model.predict(new_features)):.3f}")
proba = model.predict_proba(new_features)
print(f"  its probabilities: log loss {log_loss(truth, proba):.3f}, tossing a coin {np.log(2):.3f}")

# %%
# Sure when it can be: the more certain half of the answers is right far more often.

certain = proba.max(axis=1)
order = np.argsort(-certain)
right = model.predict(new_features)[order] == truth[order]
share = np.arange(1, truth.size + 1)
figure, axes = plt.subplots(figsize=(5.4, 3), layout="constrained")
axes.plot(share / truth.size, np.cumsum(right) / share, color="#1d5fa6")
axes.set(xlabel="share of signals, most certain first", ylabel="share right", ylim=(0.5, 1.02))
