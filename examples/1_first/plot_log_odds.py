"""
Malignant or benign: odds ratios from 100 patients
==================================================

A clinician does not report the change of a score but of the odds: what one standard deviation more
of a measurement multiplies the odds of a malignant tumour by. ``loss="log"`` fits these, and its
probabilities come from the same model.

The data come with scikit-learn: 30 measurements of nuclei in needle aspirates (Wisconsin
breast cancer). A hundred patients are learned from, 469 are kept apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyClassifierCV

data = load_breast_cancer()
names, malignant = data.feature_names, data.target == 0
X, new, y, truth = train_test_split(
    data.data, malignant, train_size=100, stratify=malignant, random_state=0
)
model = StretchyClassifierCV(loss="log").fit(X, y)
plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
for name, each in (("this model", model), ("LogisticRegression()", plain)):
    right = balanced_accuracy_score(truth, each.predict(new))
    loss = log_loss(truth, each.predict_proba(new))
    print(f"{name:21} balanced accuracy {right:.3f}, log loss {loss:.3f}")

# %%
# Ordinary logistic regression does as well here: there are three times as many patients as
# measurements. With thousands of measurements its strength would have to be chosen too.
#
# Odds ratios with their errors: ``effects()`` fits the model again without parts of the patients.
# Measurements that go together (radius, perimeter, area) share their effect.

table = model.effects(n_pairs=20)
effect, error = np.asarray(table["effect_per_sd"]), np.asarray(table["standard_error"])
strongest = np.argsort(-np.abs(effect))[:10][::-1]
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.errorbar(
    np.exp(effect[strongest]),
    names[strongest],
    xerr=[
        np.exp(effect[strongest]) - np.exp(effect[strongest] - 2 * error[strongest]),
        np.exp(effect[strongest] + 2 * error[strongest]) - np.exp(effect[strongest]),
    ],
    fmt="o",
    color="#1d5fa6",
)
axes.axvline(1.0, color="#6d6d6d", lw=1)
axes.set(xscale="log", xlabel="odds ratio of one standard deviation")
axes.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
axes.minorticks_off()

# %%
# Do the probabilities hold for the patients kept apart? Of those to whom the model gives 70 % about
# seven of ten should have a malignant tumour.

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
CalibrationDisplay.from_predictions(
    truth,
    model.predict_proba(new)[:, 1],
    n_bins=8,
    strategy="quantile",
    ax=axes,
    name="this model",
)
axes.set(xlabel="probability of a malignant tumour", ylabel="share of malignant ones")
