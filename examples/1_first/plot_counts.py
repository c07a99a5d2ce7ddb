"""
How many infections: counts on 160 wards
========================================

Wards count infections. A large ward has more than a small one, so the days that patients spent
there (the exposure) must be part of the model; and 9 instead of 4 is less surprising than 5 instead
of 0. ``loss="poisson"`` knows both. The question is how many infections a thousand days bring, and
what drives it.

The data are generated: 160 wards, 400 measurements of each in groups that go together, of which
three matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstretch import StretchyRegressorCV

rng = np.random.default_rng(1)
n = 160
common = rng.standard_normal((n, 80))
X = 0.7 * np.repeat(common, 5, axis=1) + 0.7 * rng.standard_normal((n, 400))
days = rng.uniform(0.3, 3.0, n)  # thousands
rate = 4.0 * np.exp(0.5 * X[:, 0] - 0.4 * X[:, 100] + 0.3 * X[:, 200])
infections = rng.poisson(days * rate)
print(f"{infections.sum()} infections in {days.sum():.0f} thousand days on {n} wards")

# %%
# The target is the rate, and the exposure is its weight. A third of the wards is kept apart.
# Where few features may matter it pays to have some numbers of features tried too.

train, test = np.arange(107), np.arange(107, n)
model = StretchyRegressorCV([3, 5, 10, 20, 1.0], loss="poisson")
model.fit(X[train], infections[train] / days[train], sample_weight=days[train])
found = model.score(X[test], infections[test] / days[test], sample_weight=days[test])
print(f"share of the deviance explained on new wards: {found:.2f}")
print(f"wards of the fit expected {model.predict(X[train]) @ days[train]:.0f} infections, "
      f"and {infections[train].sum()} were seen")  # fmt: skip

# %%
# Fifths of the new wards by the rate that the model expects, beside the rate that was seen. A bar
# is as long as chance alone would make it: counts vary by their square root.

expected = model.predict(X[test])
fifth = np.digitize(expected, np.quantile(expected, [0.2, 0.4, 0.6, 0.8]))
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for number in range(5):
    rows = test[fifth == number]
    seen, spent = infections[rows].sum(), days[rows].sum()
    said = model.predict(X[rows]) @ days[rows] / spent
    axes.errorbar(said, seen / spent, yerr=np.sqrt(seen) / spent, fmt="o", color="#1d5fa6")
low, high = axes.get_xlim()
axes.axline((low, low), slope=1, color="#6d6d6d", lw=1)
axes.set(xlabel="expected infections in 1,000 days", ylabel="seen")

# %%
# Effects are ratios of rates: what one standard deviation of a measurement multiplies the rate by.

for place in np.argsort(-np.abs(model.effect_))[:5]:
    print(f"measurement {place:3}  rate ratio of one sd {np.exp(model.effect_[place]):.2f}")
