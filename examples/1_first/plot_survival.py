"""
Who relapses sooner: survival from 1,000 genes
==============================================

Patients are followed for years. Some relapse; others leave the study before, and nobody knows when
their relapse would have come. ``StretchySurvivalCV`` learns from both. Age is known to matter, so
it is never penalised, and the question is what the genes add.

The data are generated: 240 patients, 1,000 genes in groups that go together, of which one group and
one single gene matter; about a third of the patients is censored.
"""

import matplotlib.pyplot as plt
import numpy as np

from skstretch import StretchySurvivalCV

rng = np.random.default_rng(0)
n = 240
common = rng.standard_normal((n, 100))
genes = 0.7 * np.repeat(common, 10, axis=1) + 0.7 * rng.standard_normal((n, 1000))
age = rng.uniform(40, 80, n)
risk = 1.2 * common[:, 0] - 1.0 * genes[:, 500] + 0.04 * (age - 60)
relapse, left = rng.exponential(40 * np.exp(-risk)), rng.uniform(12, 90, n)

y = np.empty(n, dtype=[("event", bool), ("months", float)])
y["event"], y["months"] = relapse <= left, np.minimum(relapse, left)
X = np.column_stack([age, genes])
factor = np.ones(X.shape[1])
factor[0] = 0.0  # age
print(f"{y['event'].sum()} relapses among {n} patients")

# %%
# The last third of the patients is kept apart, as a hospital would that tries the model later.

train, test = np.arange(160), np.arange(160, n)
model = StretchySurvivalCV(penalty_factor=factor, k_grid=(1.05, 1.25, 2.0))
model.fit(X[train], y[train])
only_age = StretchySurvivalCV(k_grid=(2.0,)).fit(X[train][:, :1], y[train])
print(f"concordance of left-out patients  {model.best_score_:.2f} ± {model.best_score_se_:.2f}")
print(f"of the patients kept apart        {model.score(X[test], y[test]):.2f}")
print(f"the same by Uno                   {model.score_uno(X[test], y[test]):.2f}")
print(f"age alone                         {only_age.score(X[test][:, :1], y[test]):.2f}")
print(f"hazard ratio of ten years of age  {np.exp(10 * model.coef_[0]):.2f}")

# %%
# Thirds of the new patients by their risk, beside what the model expects of each third: the mean of
# the predicted curves, and the share without relapse that was seen (Kaplan and Meier).


def seen(months, event, times):
    """The share without relapse, by Kaplan and Meier."""
    factors = [
        1 - np.sum(event & (months == t)) / np.sum(months >= t) if np.any(months >= t) else 1.0
        for t in np.unique(months[event])
    ]
    steps = np.concatenate([[1.0], np.cumprod(factors)])
    return steps[np.searchsorted(np.unique(months[event]), times, "right")]


times = np.linspace(0, model.unique_times_[-1], 200)
risks = model.predict(X[test])
third = np.digitize(risks, np.quantile(risks, [1 / 3, 2 / 3]))
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
for number, (name, colour) in enumerate(
    [("low risk", "#1d5fa6"), ("middle", "#6d6d6d"), ("high risk", "#b8431a")]
):
    rows = test[third == number]
    curve = model.predict_survival_function(X[rows], times).mean(axis=0)
    axes.plot(times, curve, color=colour, ls="--", lw=1)
    axes.step(times, seen(y["months"][rows], y["event"][rows], times), color=colour, label=name)
axes.set(xlabel="months", ylabel="without relapse", ylim=(0, 1.02))
axes.legend(frameon=False, title="seen; dashed: predicted")

# %%
# The group of ten genes and the single gene are among the strongest. Genes of one group share their
# effect: none of them is needed alone.

names = np.array(["age", *[f"gene {j}" for j in range(1000)]])
for place in np.argsort(-np.abs(model.effect_))[:8]:
    print(f"{names[place]:9} hazard ratio of one sd {np.exp(model.effect_[place]):.2f}")
