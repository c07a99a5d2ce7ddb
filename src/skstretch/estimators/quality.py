"""How well a fitted model does, in words: scores, folds, errors beside knowing nothing, chance.

Also where the candidates of a search stand in a drawing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

import numpy as np
from sklearn.base import is_classifier

from skstretch.core.classes import balanced_weights
from skstretch.core.crossfit import effective_weights, needed_margin, paired_error
from skstretch.core.losses import deviances
from skstretch.core.stretch import selects
from skstretch.core.survival import concordance_losses, event_and_time
from skstretch.core.types import Array, Index, Mask
from skstretch.style import count, number, plain, share

# what scikit-learn's splitters call themselves
SPLITTERS = {
    r"KFold\(n_splits=(\d+)": "{} folds",
    r"StratifiedKFold\(n_splits=(\d+)": "{} folds, by class",
    r"GroupKFold\(n_splits=(\d+)": "{} folds of whole groups",
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
        if not np.isfinite(error):
            return ""
        return number(error, 2) if self.write is number else self.write(error)


def kind_of(model: Any) -> str:
    """What a model predicts: a key of `WORDS`."""
    if is_classifier(model):
        return "classes"
    return {"poisson": "counts", "cox": "survival"}.get(model._loss, "numbers")


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
    if (kind := kind_of(model)) in ("counts", "survival"):
        return Measure(WORDS[kind].error, kind == "counts", number)
    if root:
        return Measure("typical error", True, number, root=True)
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
        if model._loss != "squared":
            return "ten folds"
        if not selecting(model).any():
            return "exact leave-one-out"
        if model.n_features_to_select is None:
            return "exact leave-one-out, ten folds where features are selected"
        return "ten folds"
    if isinstance(model.cv, int):
        return f"{model.cv} folds"
    text = stored["cv"] if model.cv is None else repr(model.cv)
    for pattern, words in SPLITTERS.items():
        if found := re.match(pattern, text):
            return words.format(*found.groups())
    return text


def chance_in_words(model: Any) -> str:
    """The permutation test of the closed forms, where there was one; else nothing."""
    found = getattr(model, "permutation_", None)
    if found is None:
        return ""
    null: Array = np.asarray(found.null_distribution)
    return (
        "By chance, with targets in random order, the search does as well with probability "
        f"{plain(float(f'{found.pvalue:.2g}'))} ({count(null.size, 'random order')}, tried with "
        "ridge and curved models of all features)."
    )


# What held-out losses say of a model, beside those of knowing nothing and of ridge regression.

# with fewer samples, or groups of them, an error has no meaning
LEAST_UNITS = 10
# paired differences: below so many standard errors there is none, below so many it may be chance;
# of many samples, few need more
NONE, CERTAIN = 1.0, 2.0


@dataclass(frozen=True)
class Rival:
    """Another way to predict the same samples: its mean loss, and by how much it is `above` that of
    the model, with the standard error of this mean of paired differences."""

    loss: float
    above: float
    above_se: float

    @property
    def margin(self) -> float:
        """How many standard errors the model is better."""
        if self.above_se > 0:
            return self.above / self.above_se
        return float(np.sign(self.above)) * np.inf if self.above else 0.0


@dataclass(frozen=True)
class Evidence:
    """Losses of held-out predictions of one target, or of classes.

    Losses are squared errors, or errors of classes weighted so that classes count alike, or as the
    `kind` says: deviances of "counts", what is missing of a concordance of 1 of "survival".
    `trusted` says that nothing has seen the samples, also not the choice among models. `right` and
    `largest` are shares of samples: put into the right class, and in the largest class.
    """

    loss: float
    loss_se: float
    n_units: int
    grouped: bool
    trusted: bool
    mean: Rival
    ridge: Rival | None = None
    right: float | None = None
    largest: float | None = None
    kind: str = ""

    @property
    def words(self) -> "Words":
        """How it is told."""
        return WORDS[self.kind or ("numbers" if self.right is None else "classes")]

    @property
    def enough(self) -> bool:
        """Whether there are enough samples or groups to say anything."""
        return self.n_units >= LEAST_UNITS

    def needed(self, errors: float) -> float:
        """The margin that is as rare by chance as so many standard errors of very many samples."""
        return needed_margin(errors, self.n_units)

    @property
    def found(self) -> bool:
        """Whether the model is better than knowing nothing by a standard error."""
        return self.enough and self.mean.margin >= self.needed(NONE)

    @property
    def gain(self) -> float:
        """The share of the error of knowing nothing that is gone."""
        return 1.0 - self.figure(self.loss) / self.figure(self.mean.loss)

    @property
    def r2(self) -> float:
        return 1.0 - self.loss / self.mean.loss if self.mean.loss > 0 else np.nan

    def figure(self, loss: float) -> float:
        """A loss as it is written: the root of a mean square error, or a rate."""
        if self.kind:
            return loss if self.kind == "counts" else 1.0 - loss
        return loss if self.right is not None else float(np.sqrt(loss))

    def write(self, loss: float) -> str:
        return share(loss) if self.right is not None else number(self.figure(loss))

    @property
    def spread(self) -> str:
        """The standard error of the figure; ``d sqrt(m) = d m / (2 sqrt(m))``."""
        if self.right is not None:
            return share(self.loss_se)
        if self.kind:
            return number(self.loss_se, 2)
        return number(0.5 * self.loss_se / np.sqrt(self.loss) if self.loss > 0 else 0.0, 2)

    @property
    def noun(self) -> str:
        return "groups" if self.grouped else "samples"


def evidence_of(
    kind: str, y: Any, found: dict[str, Any], weights: Array, groups: Any = None, *, trusted: bool
) -> list[Evidence]:
    """Of predictions by the ``"model"``, the ``"mean"`` and perhaps by ``"ridge"``: for each target
    of numbers, else of labels (all classes count alike), rates, or risks beside signed times.

    Weights are numbers of samples, as `repetitions` makes them.
    """
    facts: dict[str, Any] = {}
    if kind == "numbers":
        columns = {name: np.asarray(each).reshape(len(y), -1).T for name, each in found.items()}
        squared = {name: np.square(y.reshape(len(y), -1).T - own) for name, own in columns.items()}
        n_targets = len(squared["model"])
        losses = [{name: own[j] for name, own in squared.items()} for j in range(n_targets)]
    else:
        losses = [{name: held_out_losses(y, one, weights, kind) for name, one in found.items()}]
        facts = {"kind": kind}
    if kind == "classes":
        sizes = [weights[y == each].sum() for each in np.unique(y)]
        right = float(np.average(found["model"] == y, weights=weights))
        facts = {"right": right, "largest": float(max(sizes) / weights.sum())}
    used = weights > 0
    n_units = int(used.sum() if groups is None else np.unique(np.asarray(groups)[used]).size)

    def beside(own: dict[str, Array], name: str) -> Rival | None:
        if name not in own:
            return None
        mean = float(np.average(own[name], weights=weights))
        return Rival(mean, *paired_error(own[name] - own["model"], weights, groups))

    return [
        Evidence(
            *paired_error(own["model"], weights, groups),
            n_units,
            groups is not None,
            trusted,
            cast(Rival, beside(own, "mean")),
            beside(own, "ridge"),
            **facts,
        )
        for own in losses
    ]


def repetitions(kind: str, weights: Array) -> Array:
    """Weights in any unit as numbers of samples; those of counts are exposures."""
    if kind == "counts":
        return weights / weights[weights > 0].mean()
    return effective_weights(weights)


def held_out_losses(y: Array, predictions: Array, weights: Array, kind: str) -> Array:
    """Squared errors, balanced errors of classes, or as `Evidence` has them, by sample."""
    if kind == "counts":
        return deviances(y, predictions)
    if kind == "survival":
        return concordance_losses(*event_and_time(y), predictions, weights)
    if kind == "numbers":
        squared = np.square(y - predictions)
        return np.asarray(squared if squared.ndim == 1 else squared.mean(axis=1))
    names, codes = np.unique(y, return_inverse=True)
    return np.asarray((predictions != y) * balanced_weights(codes, names.size, weights)[codes])


@dataclass(frozen=True)
class Words:
    """The error, in short, that nothing was found, that something was, and knowing nothing."""

    error: str
    short: str
    not_better: str
    does: str
    nothing: str
    explained: str = ""


WORDS = {
    "numbers": Words(
        "typical error",
        "error",
        "is not predicted better than by always answering the mean",
        "Predicts {}",
        "always answering the mean",
        "R²",
    ),
    "classes": Words(
        "balanced error",
        "error",
        "are not told apart better than by guessing",
        "Tells {} apart",
        "guessing",
    ),
    "counts": Words(
        "mean deviance",
        "deviance",
        "is not predicted better than by always answering the mean rate",
        "Predicts {}",
        "always answering the mean rate",
        "D²",
    ),
    "survival": Words(
        "concordance",
        "concordance",
        "is not predicted better than by chance",
        "Predicts {}",
        "by chance",
    ),
}


def verdict(evidence: Evidence, target: str = "the target", n_classes: int = 0) -> str:
    """What was found, in one sentence.

    It says "predicts" only where nothing has seen the samples and the model beats knowing nothing
    by a standard error.
    """
    if evidence.mean.loss == 0:
        return f"All samples have one value of {target}: there is nothing to predict."
    if not evidence.enough:
        return (
            f"Too few {evidence.noun} to say how well {target} is predicted: there are "
            f"{evidence.n_units}, and {LEAST_UNITS} are the least."
        )
    words, error, nothing = evidence.words, evidence.words.error, evidence.words.nothing
    own, other = evidence.write(evidence.loss), evidence.write(evidence.mean.loss)
    if n_classes:
        of = "" if target == "the target" else f" of {target}"
        target = f"the {n_classes} classes{of}"
    if not evidence.found:
        return f"Nothing was found: {target} {words.not_better} ({error} {own} against {other})."
    figures = f"{error} {own} (standard error {evidence.spread})"
    less = f"{share(evidence.gain, 0)} less than {nothing} ({other})"
    if evidence.kind == "survival":
        less = f"{other} is {nothing}, 1 the best"
    if not evidence.trusted:
        return (
            "How well it does on new samples is not known yet. In a cross-validation that has seen "
            f"the choice among models the {error} of {target} is {figures.removeprefix(error)[1:]}"
            f", {less}."
        )
    if evidence.mean.margin < evidence.needed(CERTAIN):
        are = "are told apart" if n_classes else "is predicted"
        return (
            f"Little was found, perhaps by chance: {target} {are} a little better than "
            f"{'by ' * (not nothing.startswith('by'))}{nothing} ({figures} against {other})."
        )
    text = f"{words.does.format(target)}: {figures}, {less}."
    if evidence.right is None or evidence.largest is None:
        return text
    return (
        f"{text} {share(evidence.right)} of samples are put into their class (always answering the "
        f"largest class: {share(evidence.largest)})."
    )


def several_verdicts(found: list[Evidence], names: list[str]) -> str:
    """Several targets: how many are predicted, the best of them and the worst."""
    if not found[0].enough:
        return verdict(found[0], f"any of {len(found)} targets")
    gains = np.array([each.gain if each.mean.loss > 0 else 0.0 for each in found])
    good = sum(each.found for each in found)
    best, worst = int(gains.argmax()), int(gains.argmin())
    if not good:
        return (
            f"Nothing was found: none of {len(found)} targets is predicted better than by always "
            f"answering its mean (the best, {names[best]}: typical error {_less(gains[best])})."
        )
    many = f"all {len(found)}" if good == len(found) else f"{good} of {len(found)}"
    ends = (
        f"typical error {_less(gains[best])} than that of always answering the mean for "
        f"{names[best]}, the best, and {_less(gains[worst])} for {names[worst]}, the worst"
    )
    if not found[0].trusted:
        return (
            "How well it does on new samples is not known yet. In a cross-validation that has seen "
            f"the choice among models {many} targets are better than their means: {ends}."
        )
    return f"Predicts {many} targets better than their means: {ends}."


def beside_ridge(evidence: Evidence) -> str:
    """One sentence on ridge regression; nothing where it was not tried or is the model itself."""
    ridge = evidence.ridge
    if ridge is None or not evidence.enough or (ridge.above == 0 and ridge.above_se == 0):
        return ""
    own, other, margin = evidence.write(evidence.loss), evidence.write(ridge.loss), ridge.margin
    short = evidence.words.short
    figures = f"({short} {own} against {other})"
    if not evidence.found:
        also = "Nor by ridge regression" if ridge.loss >= evidence.mean.loss else "Ridge regression"
        return f"{also}: {short} {other}."
    if abs(margin) < evidence.needed(NONE):
        return f"No better than ridge regression {figures}."
    way = "better" if margin > 0 else "worse"
    if not evidence.trusted:
        return f"{way.capitalize()} than ridge regression in that cross-validation {figures}."
    if abs(margin) < evidence.needed(CERTAIN):
        return f"{way.capitalize()} than ridge regression, perhaps by chance {figures}."
    return f"Clearly {way} than ridge regression {figures}."


def needs(evidence: Evidence) -> str:
    """What the figures rest on."""
    if evidence.grouped:
        return "Groups were left out whole: it holds for new groups like these."
    return (
        "It holds for new samples like these if samples are independent of each other; pass groups "
        "where some belong together."
    )


# Errors of one candidate, and what using no feature gives.


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


def _less(gain: float) -> str:
    return f"{share(gain, 0)} less" if gain >= 0 else f"{share(-gain, 0)} more"


# Where the candidates of a search stand in a drawing.


@dataclass(frozen=True)
class GridPositions:
    """Places of candidates by the strength of their penalty.

    Attributes
    ----------
    at : array of int
        The place of each candidate.
    values : array
        What each place stands for: a strength s or a c, or its number from 1.
    kind : {"shared", "paths", "numbers"}
        Whether all families have these strengths; some stand along paths of their own; or all do,
        so that places are numbers.
    """

    at: Index
    values: Array
    kind: str


def grid_positions(results: dict[str, Any], rows: Index, lines: Index, name: str) -> GridPositions:
    """Places of some rows of ``cv_results_`` whose families are numbered by `lines`.

    By ``param_s`` or ``param_c``, as `name` says. Exact minimisers have an automatic path of their
    own, whose strengths s no other family has: it is spread evenly, from weak to strong, over the
    places of the others.
    """
    strengths = np.asarray(results[f"param_{name}"])[rows]
    a, k = (np.asarray(results[f"param_{letter}"])[rows] for letter in "ak")
    alone = np.isnan(strengths) | ((name == "s") & (a == 0) & (k < 2))
    known = np.unique(strengths[~alone])
    at = np.searchsorted(known, strengths)
    paths = [np.flatnonzero((lines == line) & alone) for line in np.unique(lines[alone])]
    if not paths:
        return GridPositions(at, known, "shared")
    longest = max(path.size for path in paths)
    numbered = known.size < longest
    width = max(known.size, longest)
    for path in paths:
        weakest_first = path[np.argsort(-results["param_c"][rows][path], kind="stable")]
        at[weakest_first] = np.rint(np.linspace(0, width - 1, path.size)).astype(int)
    if numbered:
        return GridPositions(at, np.arange(1.0, width + 1.0), "numbers")
    return GridPositions(at, known, "paths")


def field_edges(places: Index, width: int) -> Array:
    """Edges of the fields at some places in order, which fill the width without gaps."""
    return np.r_[0.0, (places[1:] + places[:-1] + 1) / 2, width]


def same_density(values: Any, density: Any) -> Index:
    """Rows with one density, where 1 is a count and 1.0 a share."""
    kind = isinstance(density, Integral)
    return np.flatnonzero([v == density and isinstance(v, Integral) == kind for v in values])
