"""How well a fitted model does, in words: scores, folds, errors beside knowing nothing, chance."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skstretch.core.classes import decided
from skstretch.core.stretch import selects
from skstretch.core.types import Array, Index, Mask
from skstretch.style import count, near_one, number, plain, share

# what scikit-learn's splitters call themselves
SPLITTERS = {
    r"KFold\(n_splits=(\d+)": "exact {} folds",
    r"StratifiedKFold\(n_splits=(\d+)": "exact {} folds, by class",
    r"GroupKFold\(n_splits=(\d+)": "exact {} folds of whole groups",
    r"LeaveOneOut\(": "exact leave-one-out",
    r"LeaveOneGroupOut\(": "exact leave-one-group-out",
}


@dataclass(frozen=True)
class Measure:
    """What the scores of a search are called and how they are written.

    Where a `lower` figure is better, scores are losses with a minus, or what is missing of the
    `best` score; `root` is for the root of a mean square error.
    """

    name: str
    lower: bool
    write: Callable[[Any], str]
    root: bool = False
    best: float = 0.0

    @property
    def better(self) -> str:
        return "lower is better" if self.lower else "greater is better"

    def of_scores(self, scores: Any) -> Array:
        """The figures of scores, whatever their shape."""
        found = np.asarray(scores, dtype=float)
        found = self.best - found if self.lower else found
        return np.sqrt(found) if self.root else found

    def write_score(self, score: Any) -> str:
        return self.write(self.of_scores(score))

    def write_error(self, score: float, error: float) -> str:
        """The standard error of a score, to first order; nothing where it is not known.

        ``d sqrt(m) / d m = 1 / (2 sqrt(m))`` at the mean square error m.
        """
        if self.root:
            error = error * 0.5 / np.sqrt(-score) if score < 0 else np.nan
        return self.write(error) if np.isfinite(error) else ""


def measure_of(model: Any, root: bool = False) -> Measure:
    """How the scores of a fitted search are named and written.

    A model file does not store a scorer that is a function, but that there was one.
    """
    if isinstance(model.scoring, str):
        return Measure(f"score ({model.scoring})", False, number)
    if model.scoring is not None or "scoring" in getattr(model, "not_stored_", {}):
        return Measure("score", False, number)
    if is_classifier(model):
        return Measure("balanced error rate", True, share, best=1.0)
    if root:
        return Measure("typical error (root mean square)", True, number, root=True)
    return Measure("mean squared error", True, number)


def score_in_words(model: Any, name: str, measure: Measure, between: str = " ± ") -> str:
    """``best_score_`` or ``nested_score_`` with its standard error; nothing where not known."""
    score = float(getattr(model, name, np.nan))
    if not np.isfinite(score):
        return ""
    error = measure.write_error(score, float(getattr(model, f"{name}se_", np.nan)))
    return measure.write_score(score) + (f"{between}{error}" if error else "")


def selecting(model: Any) -> Mask:
    """Candidates that keep some of the features."""
    D, densities = int(model.n_features_in_), model.cv_results_["param_density"]
    return np.array([selects([density], D) for density in densities], dtype=bool)


def folds_in_words(model: Any) -> str:
    """The folds of a search; of a loaded model those of its fit, which a file holds as text."""
    stored = getattr(model, "not_stored_", {})
    if model.cv is None and "cv" not in stored:
        if not selecting(model).any():
            return "exact leave-one-out"
        if model.n_features_to_select is None:
            return "exact leave-one-out, ten folds where features are selected"
        return "exact ten folds"
    if isinstance(model.cv, int):
        return f"exact {model.cv} folds"
    text = stored["cv"] if model.cv is None else repr(model.cv)
    for pattern, words in SPLITTERS.items():
        if found := re.match(pattern, text):
            return words.format(*found.groups())
    return text


def left_out(model: Any, noun: str = "sample") -> str:
    """What a nested score was searched without."""
    return f"parts of the {noun}s"


def chance_in_words(model: Any) -> str:
    """The permutation test of the closed forms, where there was one; else nothing."""
    found = getattr(model, "permutation_", None)
    if found is None:
        return ""
    null: Array = np.asarray(found.null_distribution)
    return (
        "With targets in random order the closed forms of the search do as well with p = "
        f"{plain(float(f'{found.pvalue:.2g}'))} ({count(null.size, 'order')})."
    )


# How well it does on samples that it has not seen, and what using no feature gives.


@dataclass(frozen=True)
class RegressionQuality:
    """Root mean square errors of a model, and of answering the mean of the other samples."""

    error: float
    baseline: float

    @property
    def gain(self) -> float:
        """The share of the baseline's error that is gone."""
        return 1.0 - self.error / self.baseline if self.baseline > 0 else 0.0

    @property
    def r2(self) -> float:
        return 1.0 - (self.error / self.baseline) ** 2 if self.baseline > 0 else np.nan

    @property
    def text(self) -> str:
        return f"typical error {number(self.error)}, out-of-fold R² {near_one(self.r2)}"

    def sentence(self, target: str = "the target") -> str:
        """The error beside that of the mean."""
        if self.baseline == 0 and self.error == 0:
            return f"All samples have one value of {target}: there is nothing to predict."
        if self.gain <= 0:
            return (
                f"This model does not predict {target}: on samples that it has not seen its "
                f"typical error is ±{number(self.error)}, and always answering the mean gives "
                f"±{number(self.baseline)}."
            )
        return (
            f"Predicts {target} with a typical error of ±{number(self.error)} on samples that it "
            f"has not seen, {share(self.gain, 0)} less than always answering the mean "
            f"(±{number(self.baseline)})."
        )


def left_out_means(y: Array, weights: Array | None = None, groups: Index | None = None) -> Array:
    """For every sample the mean of the others, or of those outside its group (numbered from 0).

    The mean of all where nothing is left.
    """
    w = np.ones(len(y)) if weights is None else weights
    units = np.arange(len(y)) if groups is None else groups
    sums, totals = (np.bincount(units, weights=values)[units] for values in (w * y, w))
    rest = w.sum() - totals
    whole = float((w * y).sum())
    means = (whole - sums) / np.where(rest > 0, rest, 1.0)
    return np.where(rest > 0, means, whole / w.sum())


def regression_quality(
    observed: Array, predicted: Array, weights: Array | None = None
) -> RegressionQuality:
    """Of one target, over the samples that some fold has tested."""
    known, means = np.isfinite(predicted), left_out_means(observed, weights)
    own = None if weights is None else weights[known]
    errors = (np.square((observed - guess)[known]) for guess in (predicted, means))
    error, baseline = (float(np.sqrt(np.average(losses, weights=own))) for losses in errors)
    return RegressionQuality(error, baseline)


def many_targets(quality: list[RegressionQuality], names: list[str]) -> str:
    """Several targets: the one that is predicted best, and the worst."""
    gains = np.array([q.gain for q in quality])
    order = np.argsort(-gains, kind="stable")
    best, worst = int(order[0]), int(order[-1])
    return (
        f"Predicts {len(gains)} targets at once. On samples that it has not seen the typical error "
        f"is {_less(gains[best])} than that of always answering the mean for "
        f"{names[best]}, the best, and {_less(gains[worst])} for {names[worst]}, the worst."
    )


def _less(gain: float) -> str:
    return f"{share(gain, 0)} less" if gain >= 0 else f"{share(-gain, 0)} more"


@dataclass(frozen=True)
class ClassRates:
    """Shares of samples that are put into the right class, and of the most frequent class."""

    right: float
    balanced_error: float
    baseline: float
    n_classes: int

    def sentence(self, target: str = "the target") -> str:
        """The share of right answers beside that of the most frequent class."""
        what = "" if target == "the target" else f" of {target}"
        tells = "Tells"
        if self.right <= self.baseline and self.balanced_error >= 0.5:
            tells = "Does not tell"
        return (
            f"{tells} the {self.n_classes} classes{what} apart: {share(self.right)} of samples "
            "that it has not seen are put into the right one (always answering the most frequent "
            f"class: {share(self.baseline)}); the balanced error rate is "
            f"{share(self.balanced_error)}."
        )


def class_rates(outputs: Array, codes: Index, n_classes: int) -> ClassRates:
    """Of outputs (n, t) whose cut is at zero, over the samples that some fold has tested."""
    known = np.isfinite(outputs).all(axis=1)
    codes, labels = codes[known], decided(outputs[known])
    sizes = np.bincount(codes, minlength=n_classes)
    wrong = np.bincount(codes, weights=labels != codes, minlength=n_classes)
    present = sizes > 0
    return ClassRates(
        float(np.mean(labels == codes)),
        float(np.mean(wrong[present] / sizes[present])),
        float(sizes.max() / codes.size),
        n_classes,
    )
