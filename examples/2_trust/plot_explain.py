"""
Why this prediction, and is the label right?
============================================

A prediction of these models is a sum of one curve per feature, so the share of every feature in it
is exact and needs no sampling. The models without each sample are known too, so doubtful labels are
found almost without refits.

The data are 200 biopsies of the breast cancer data, which come with scikit-learn. Three of their
labels are turned over on purpose.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from skstretch import StretchyClassifierCV
from skstretch.exceptions import GridEdgeWarning
from skstretch.plots import ContributionsDisplay

warnings.simplefilter("ignore", GridEdgeWarning)
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X[:200], y[:200].to_numpy().copy()
wrong = np.array([10, 60, 150])
y[wrong] = 1 - y[wrong]
model = StretchyClassifierCV().fit(X, y)

# %%
# `influence` sorts the samples by the probability of the label that they were given, by models that
# have not seen them. The wrong ones should come early.

found = model.influence()
print(found)
places = [found.frame.index.get_loc(sample) + 1 for sample in wrong]
print("the turned labels are on places", sorted(places), "of", len(y))

# %%
# Why does the model doubt a label? The bars lead from the mean score to the score of the sample: to
# the right they speak for a benign biopsy (class 1), to the left against it.

worst = int(found.frame.index[0])
display = ContributionsDisplay.from_estimator(model, X, sample=worst, top=8)
print(f"sample {worst} is labelled {y[worst]}, and its score is {display.prediction:.2f}")
plt.show()

# %%
# The bars and the mean score add up to the score, to the last digits.

total = model.contributions_base_ + model.contributions(X).sum(axis=1)
print("largest difference:", np.abs(total - model.decision_function(X)).max())
