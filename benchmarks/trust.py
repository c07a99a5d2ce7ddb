"""How far novelty, intervals, stability selection, errors of effects and warnings can be trusted.

``python -m benchmarks.trust`` writes docs/trust.md. Small on purpose: a few sets of every kind.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.page import write_page
from skstretch import StabilitySelector, StretchyRegressor, StretchyRegressorCV

PAGE = Path(__file__).resolve().parents[1] / "docs" / "trust.md"
N_SETS = int(os.environ.get("SKSTRETCH_TRUST_SETS", "10"))
RIDGE: Any = {"a": 0.0, "k": 2.0}


def stored(name: str) -> Any:
    """One of the sets in SKSTRETCH_DATA, such as spectra of 80 samples of corn by an instrument."""
    return np.load(Path(os.environ["SKSTRETCH_DATA"]) / f"{name}.npz")


def novelty_rows() -> Iterator[str]:
    """Shares of samples with a p_value of 0.05 or less, of corn."""
    first, y = stored("corn_m5")["X"], stored("corn_m5")["y"][:, 0]
    others = {name: stored(name)["X"] for name in ("corn_mp5", "corn_mp6")}
    found: dict[str, list[Any]] = {}
    for seed in range(N_SETS):
        order = np.random.default_rng(seed).permutation(80)
        train, new = order[:60], order[60:]
        model = StretchyRegressor(**RIDGE).fit(first[train], y[train])
        shifted = first[new].copy()
        shifted[:, 300:350] += first[train][:, 300:350].std(axis=0)
        kinds = {
            "m5: the same instrument": first[new],
            "m5, a band of 50 wavelengths raised by one sd": shifted,
            **{f"{name[5:]}: another instrument": X[new] for name, X in others.items()},
        }
        for kind, rows in kinds.items():
            table = model.novelty(rows)
            shares = [np.mean(table[p] <= 0.05) for p in ("p_leverage", "p_distance", "p_value")]
            found.setdefault(kind, []).append(shares)
    for kind, shares in found.items():
        yield f"| {kind} | " + " | ".join(f"{s:.0%}" for s in np.mean(shares, axis=0)) + " |"


def interval_rows() -> Iterator[str]:
    """Shares of new observations within 90 % intervals where noise differs."""
    for kind in ("noise that grows with the signal", "noise that follows a feature", "even noise"):
        found = []
        for seed in range(N_SETS):
            rng = np.random.default_rng(seed)
            loadings = rng.normal(size=(4, 100))

            def draw(n: int, rng: Any = rng, loadings: Any = loadings, kind: str = kind) -> Any:
                F = rng.normal(size=(n, 4))
                f = F[:, 0] + F[:, 1]
                scale = np.exp(0.6 * f * ("grows" in kind) + 0.8 * F[:, 2] * ("follows" in kind))
                X = F @ loadings + 0.5 * rng.normal(size=(n, 100))
                return X, 2 * f + 0.7 * scale * rng.normal(size=n), scale

            (X, y, _), (new, truth, scale) = draw(100), draw(400)
            model = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
            model.fit(X, y)
            row = []
            for adaptive in (False, True):
                lower, upper = model.predict_interval(new, 0.9, adaptive=adaptive)
                held = (lower <= truth) & (truth <= upper)
                noisy, quiet = scale >= np.quantile(scale, 0.8), scale <= np.quantile(scale, 0.2)
                row += [held.mean(), held[noisy].mean(), held[quiet].mean()]
            found.append(row)
        yield f"| {kind} | " + " | ".join(f"{s:.0%}" for s in np.mean(found, axis=0)) + " |"


def stability_rows() -> Iterator[str]:
    """False features of `StabilitySelector(expected_false=1)`, five of 300 are true."""
    for kind in ("independent", "correlated (0.8 to the next)", "heavy tails (t, 3 degrees)"):
        false, true = [], []
        for seed in range(N_SETS):
            rng = np.random.default_rng(seed)
            X = rng.standard_t(3, (80, 300)) if "heavy" in kind else rng.normal(size=(80, 300))
            if "correlated" in kind:
                for j in range(1, 300):
                    X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
            f = X[:, ::60].sum(axis=1)
            y = np.sqrt(5) * f / f.std() + rng.normal(size=80)
            chosen = StabilitySelector(expected_false=1, n_pairs=25, random_state=0).fit(X, y)
            support = chosen.get_support()
            true.append(support[::60].sum())
            false.append(support.sum() - true[-1])
        yield f"| {kind} | {np.mean(false):.2f} | {np.mean(true):.1f} |"


def effect_rows() -> Iterator[str]:
    """The mean standard error of `effects()` over the spread of effects over fresh samples."""
    for n, p in ((60, 30), (60, 200)):
        effects, errors = [], []
        loadings = np.random.default_rng(0).normal(size=(4, p))
        for seed in range(3 * N_SETS):
            rng = np.random.default_rng(seed)
            F = rng.normal(size=(n, 4))
            X, y = F @ loadings + 0.5 * rng.normal(size=(n, p)), F[:, 0] + 0.5 * rng.normal(size=n)
            model = StretchyRegressor(**RIDGE, c=0.01).fit(X, y)
            effects.append(model.effect_)
            if seed < N_SETS:
                errors.append(model.effects(n_pairs=2)["standard_error"])
        ratio = np.mean(errors, axis=0) / np.std(effects, axis=0, ddof=1)
        yield f"| {n} × {p} | {np.median(ratio):.2f} |"


def odd_samples(kind: str, rng: Any) -> tuple[Any, Any]:
    """80 samples of 120 features of one kind: signal to noise 5, or none where rows are copies."""
    n, p = 80, 120
    X, batch = rng.normal(size=(n, p)), np.repeat(np.arange(10), n // 10)
    noise = rng.standard_t(3, n) if "heavy" in kind else rng.normal(size=n)
    if "factors" in kind:
        X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, p)) + 0.5 * X
    if "spectra" in kind:
        X = np.cumsum(np.cumsum(X, axis=1), axis=1)
    if "batches" in kind:
        X, noise = X + rng.normal(size=(10, p))[batch], noise + 2 * rng.normal(size=10)[batch]
    f = X[:, :5] @ rng.choice([-1.0, 1.0], 5)
    y = np.sqrt(5) * f / f.std() + noise
    if "copies" in kind:
        error = float(kind.split()[-1])
        X, y = (np.repeat(each[: n // 4], 4, axis=0) for each in (X, rng.normal(size=n)))
        X, y = X + error * rng.normal(size=(n, p)), y + error * rng.normal(size=n)
    if "time" in kind:
        y = rng.normal(size=n)
        for i in range(1, n):
            X[i], y[i] = 0.7 * X[i - 1] + 0.7 * X[i], 0.7 * y[i - 1] + 0.7 * y[i]
    if "gross" in kind:
        odd = rng.choice(n, n // 20, replace=False)
        y[odd] += rng.choice([-10.0, 10.0], odd.size) * y.std()
    order = rng.permutation(n) if "any order" in kind or "copies" in kind else np.arange(n)
    return X[order], y[order]


ODD = {
    "copies, four of each of 20 samples, errors of 0": "copies",
    "copies, errors of 0.1": "copies",
    "copies, errors of 0.5": "copies",
    "batches, ten, in order": "order",
    "batches, ten, in any order": "copies",
    "batches below factors, in order": "order",
    "batches below factors, in any order": "copies",
    "an order in time": "order",
    "gross errors, 5 % of y off by 10 sd": "gross",
    "gross errors, factors": "gross",
}
SOUND = (
    "independent features",
    "factors",
    "spectra",
    "heavy tails (t, 3 degrees)",
    "heavy, factors",
)


def warning_rows() -> Iterator[str]:
    """Shares of sets whose fit warns, and of those that warn of what is there."""
    for kind in (*ODD, *SOUND):
        found = []
        for seed in range(10 * N_SETS):
            model = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
            found.append({*model.fit(*odd_samples(kind, np.random.default_rng(seed)))._noticed})
        shares = [
            np.mean([name in each for each in found]) for name in ("copies", "order", "gross")
        ]
        right = "" if kind not in ODD else f"{np.mean([ODD[kind] in each for each in found]):.0%}"
        shown = [*shares, np.mean([len(each) > 0 for each in found])]
        yield f"| {kind} | " + " | ".join(f"{s:.0%}" for s in shown) + f" | {right} |"


def order_rows() -> Iterator[str]:
    """Errors of contiguous blocks and of shuffled folds, and what a fit warns of."""
    for name in ("riboflavin", "corn_m5", "cookie", "fermentation"):
        data = stored(name)
        for number, y in enumerate(data["y"].reshape(len(data["y"]), -1).T[:2], 1):
            model = StretchyRegressorCV(a_grid=(0,), k_grid=(2,), n_features_to_select=1.0)
            told = ", ".join(model.fit(data["X"], y)._noticed) or "nothing"
            splits = [KFold(10), *(KFold(10, shuffle=True, random_state=s) for s in range(3))]
            errors = [
                np.mean((y - cross_val_predict(model, data["X"], y, cv=cv)) ** 2) / y.var()
                for cv in splits
            ]
            shown = f"{errors[0]:.2g} | {np.mean(errors[1:]):.2g}"
            yield f"| {name} | {number} | {told.replace('copies', 'groups')} | {shown} |"


def main() -> None:
    """Measure, then write the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = [
            "# Novelty, adaptive intervals, stability, errors of effects and warnings",
            "",
            "Written by `make trust` (`python -m benchmarks.trust`); do not edit. What these tell, "
            "and how to ask for it: [how far to trust a model](guide/trust.md).",
            "",
            f"Few sets ({N_SETS} of each kind): differences of a few per cent are chance.",
            "",
            "## Samples that are called strange",
            "",
            "Corn, spectra of 80 samples by three instruments: fitted to 60 of m5, asked about the "
            "other 20. Shares of samples with a p-value of 0.05 or less.",
            "",
            "| new samples | by leverage | by distance | by either |",
            "|---|---:|---:|---:|",
            *novelty_rows(),
            "",
            "## Intervals of 90 % where noise differs",
            "",
            "100 samples of 100 features with four factors; new samples within their interval: "
            "all, the noisiest fifth, the quietest fifth.",
            "",
            "| noise | plain: all | noisy | quiet | adaptive: all | noisy | quiet |",
            "|---|---:|---:|---:|---:|---:|---:|",
            *interval_rows(),
            "",
            "## False features of a stability selection",
            "",
            "80 samples, 300 features, five of them true, signal to noise 5. "
            "`StabilitySelector(expected_false=1)` promises one false feature on average; a "
            "feature that goes with a true one is counted as false here, though the bound does "
            "not.",
            "",
            "| features | false, mean | true of five, mean |",
            "|---|---:|---:|",
            *stability_rows(),
            "",
            "## Standard errors of effects",
            "",
            "The mean `standard_error` over the spread of effects over fresh samples, the median "
            "over features; 1 is right. Ridge regression.",
            "",
            "| samples × features | ratio |",
            "|---|---:|",
            *effect_rows(),
            "",
            "## Samples that hang together, and gross errors",
            "",
            f"Shares of {10 * N_SETS} sets of 80 samples and 120 features whose fit warns: of "
            "tight groups, of an order, of gross errors, of anything; and of what is there.",
            "",
            "| samples | groups | order | gross | any | right |",
            "|---|---:|---:|---:|---:|---:|",
            *warning_rows(),
            "",
            "Not noticed: batches in any order that differ less than the samples in them do (those "
            "below factors); an order in y alone with much noise; one gross error that is not "
            "several times as large as the next one, as errors of heavy tails are; anything of "
            "fewer than 30 or more than 1,000 samples. Of classes, only X is looked at.",
            "",
            "Whether an order in real data matters: squared errors of ridge regression as parts of "
            "the variance, with ten blocks of rows left out and with ten shuffled folds.",
            "",
            "| data | target | warns of | blocks | shuffled |",
            "|---|---:|---|---:|---:|",
            *order_rows(),
        ]
    print("\n".join(lines))
    write_page(PAGE, lines)


if __name__ == "__main__":
    main()
