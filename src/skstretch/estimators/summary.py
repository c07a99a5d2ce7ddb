"""A fitted model in sentences: what was chosen and why, how well it does, what matters most.

The command line, the report and notebooks take their sentences from here.
"""

import html
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skstretch.core.classes import decided
from skstretch.core.types import Array, Index
from skstretch.estimators.choice import (
    chance_in_words,
    choice,
    measured,
    nested_in_words,
    parts,
)
from skstretch.exceptions import IllConditionedWarning, NeedsInverseError
from skstretch.style import count, near_one, number, share

# features that the text names
NAMED = 5
# the side of a system from which leaving samples out is too much work for a summary
LARGE_SIDE = 3000


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


def regression_quality(
    observed: Array, predicted: Array, weights: Array | None = None
) -> RegressionQuality:
    """Of one target, over the samples that some fold has tested."""
    known = np.isfinite(predicted)
    w = np.ones(observed.size) if weights is None else weights
    y, own = observed[known], w[known]
    rest = np.maximum(w.sum() - own, np.finfo(float).tiny)
    others = (np.sum(w * observed) - own * y) / rest
    errors = (np.square(y - predicted[known]), np.square(y - others))
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


# What matters most.


def strongest(
    model: Any, limit: int | None = None, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Features by the size of their effect: the slope times the standard deviation in training.

    `slope` is the change of the prediction (of the score, for classes) for one unit of the raw
    feature at its mean, `effect` that for one standard deviation `sd`; `of` is the class that a
    positive effect speaks for, or the number of the target where there are several.
    """
    slopes = np.atleast_2d(model.slope_)
    sd = model._state.quadrant.moments.scale
    effects = slopes * sd
    size = np.abs(effects).max(axis=0)
    order = np.argsort(-size, kind="stable")[:limit]
    names, of = _names(model) if names is None else names, output_names(model)
    found = []
    for column in order[size[order] > 0].tolist():
        target = int(np.abs(effects[:, column]).argmax())
        found.append(
            {
                "feature": names[column],
                "of": of[target],
                "effect": float(effects[target, column]),
                "slope": float(slopes[target, column]),
                "sd": float(sd[column]),
            }
        )
    return found


def output_names(model: Any) -> list[Any]:
    """What each output of a model stands for."""
    n = len(np.atleast_2d(model.coef_))
    if hasattr(model, "classes_"):
        classes = model.classes_.tolist()
        return classes[1:] if n == 1 else classes
    return [None] if n == 1 else list(range(1, n + 1))


@dataclass(frozen=True)
class Summary:
    """A fitted model in sentences; ``print`` it, or take the table ``frame``.

    Parameters
    ----------
    model : estimator
        One of the four, fitted; its method `summary` makes the object.

    See Also
    --------
    skstretch.report.write_report : A page with pictures.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skstretch import StretchyRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> summary = StretchyRegressor().fit(X, y).summary()
    >>> summary.title
    'StretchyRegressor: 442 samples, 10 features'
    """

    model: Any

    @property
    def title(self) -> str:
        """The kind of model, and the size of its data."""
        n = getattr(self.model, "n_samples_seen_", self.model._state.used.size)
        data = f"{count(int(n), 'sample')}, {count(int(self.model.n_features_in_), 'feature')}"
        return f"{type(self.model).__name__}: {data}"

    @property
    def choice(self) -> str:
        """What was chosen, and why."""
        return choice(self.model)

    @cached_property
    def error(self) -> str:
        """The error on samples that the model has not seen, and that of using no feature."""
        outputs, fitted = self._held_out(), self.model._state.model
        spread = _score_in_words(self.model)
        if outputs is None or not np.isfinite(fitted.Y).all():
            return spread or "Its error on samples that it has not seen is not known."
        sentence = self._quality_sentence(outputs, fitted.Y, fitted.weights)
        return f"{sentence} {spread}".strip()

    def _held_out(self) -> Array | None:
        """Out-of-fold outputs (M, t): of the search, or leave one out."""
        state = self.model._state
        if hasattr(self.model, "cv_predictions_"):
            outputs = np.asarray(self.model.cv_predictions_, dtype=float)
            return outputs.reshape(len(outputs), -1)[state.used]
        if min(state.model.design.shape) > LARGE_SIDE:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IllConditionedWarning)
                return np.asarray(state.model.Y - state.loo_residuals)
        except (ArithmeticError, NeedsInverseError, ValueError):
            return None  # rows that were not kept, or too many for an inverse

    def _quality_sentence(self, outputs: Array, Y: Array, weights: Array) -> str:
        if not is_classifier(self.model):
            pairs = zip(Y.T, outputs.T, strict=True)
            quality = [regression_quality(*pair, weights) for pair in pairs]
            if len(quality) > 1:
                return many_targets(quality, [f"target {j}" for j in output_names(self.model)])
            return f"{quality[0].sentence()} R² is {near_one(quality[0].r2)}."
        scores = outputs - np.atleast_1d(self.model.threshold_)
        codes, n_classes = decided(Y), self.model.classes_.size
        return class_rates(scores, codes, n_classes).sentence()

    @property
    def effects(self) -> str:
        """The strongest features, with signs and units."""
        found = strongest(self.model, NAMED)
        if not found:
            return "No feature has an effect."
        classes = is_classifier(self.model)
        what = "the score" if classes else "the prediction"
        lines = [f"Strongest features, and what one standard deviation more does to {what}:"]
        width = max(len(one["feature"]) for one in found)
        for one in found:
            of = "" if one["of"] is None else f" of {'' if classes else 'target '}{one['of']}"
            lines.append(
                f"  {one['feature']:<{width}}  {_signed(one['effect'])}{of}"
                f"  ({_signed(one['slope'])} per unit, sd {number(one['sd'])})"
            )
        return "\n".join(lines)

    @property
    def frame(self) -> Any:
        """All features by the size of their effect, as a pandas DataFrame.

        One row for each feature and output: its effect for one standard deviation, ``slope_``
        (that for one unit at the mean), standard deviation, mean, and whether the model keeps it.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "summary().frame is a pandas DataFrame, and pandas is not installed: pip install "
                "pandas. The numbers are slope_ and support_."
            ) from error
        slopes, support = np.atleast_2d(self.model.slope_), np.atleast_2d(self.model.support_)
        moments, names = self.model._state.quadrant.moments, _names(self.model)
        t, D = slopes.shape
        columns = {
            "feature": np.tile(np.array(names, dtype=object), t),
            "of": np.repeat(np.array(output_names(self.model), dtype=object), D),
            "effect": (slopes * moments.scale).ravel(),
            "slope": slopes.ravel(),
            "sd": np.tile(moments.scale, t),
            "mean": np.tile(moments.mean, t),
            "kept": support.ravel(),
        }
        if t == 1 and not is_classifier(self.model):
            del columns["of"]
        order = np.argsort(-np.abs(columns["effect"]), kind="stable")
        return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

    def __str__(self) -> str:
        return "\n".join([self.title, self.choice, self.error, self.effects])

    def _repr_html_(self) -> str:
        """For notebooks: colours are inherited, so that it is at home on light and dark."""
        found = strongest(self.model, NAMED)
        labels = ["strongest features", "effect of 1 sd", "per unit", "sd"]
        rows = [
            [one["feature"], _signed(one["effect"]), _signed(one["slope"]), number(one["sd"])]
            for one in found
        ]
        if output_names(self.model) != [None]:
            labels.append("of")
            rows = [[*row, one["of"]] for row, one in zip(rows, found, strict=True)]
        unbroken = self.choice.replace(" = ", "\u00a0=\u00a0")
        table = _html_row(labels, "th") + "".join(_html_row(row, "td") for row in rows)
        return (
            "<div style='font:14px/1.5 system-ui,sans-serif;max-width:46em;margin:.5em 0'>"
            f"<p style='margin:0 0 .4em'><strong>{_safe(self.title)}</strong></p>"
            f"<p style='margin:0 0 .4em'>{_safe(unbroken)}</p>"
            f"<p style='margin:0 0 .6em'>{_safe(self.error)}</p>"
            f"{_html_mixture(self.model)}"
            "<table style='border-collapse:collapse;font:inherit;color:inherit'>"
            f"{table}</table></div>"
        )


def _score_in_words(model: Any) -> str:
    """The scores of a search, and what chance would do, where that was asked."""
    if not hasattr(model, "best_score_"):
        return ""
    told, error = measured(model), float(getattr(model, "best_score_se_", np.nan))
    cut = ", scores cut at zero" if is_classifier(model) and told.sign < 0 else ""
    score = f"{told.name}{cut}: {told.write(float(model.best_score_), error)}"
    nested = nested_in_words(model)
    nested = f"; {nested}" if nested else ""
    return f"Cross-validated {score}{nested}. {chance_in_words(model)}".strip()


def _names(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [*map(str, names)]


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value)


def _html_mixture(model: Any) -> str:
    """The cells of a mixture as a table that can be opened; nothing where there is one cell."""
    found = parts(model)
    if not found:
        return ""
    write = measured(model).write
    head = _html_row(["cells of the mixture", "share", "c", "score alone"], "th")
    rows = [[p.name, share(p.share), number(p.c), write(p.score)] for p in found]
    table = head + "".join(_html_row(row, "td") for row in rows)
    return (
        "<details style='margin:0 0 .6em'><summary>The cells of the mixture</summary>"
        f"<table style='border-collapse:collapse;font:inherit;color:inherit'>{table}</table>"
        "</details>"
    )


def _html_row(values: list[Any], tag: str) -> str:
    """A row of a table: names to the left, numbers to the right."""
    aligned = ["left", "right", "right", "right", "left"]
    cells = (
        f"<{tag} style='text-align:{side};padding:.1em .8em .1em 0'>{_safe(value)}</{tag}>"
        for value, side in zip(values, aligned, strict=False)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _safe(value: Any) -> str:
    return html.escape(str(value), quote=True)
