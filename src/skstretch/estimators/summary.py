"""A fitted model in sentences: what was chosen and why, how well it does, what matters most.

The command line, the report and notebooks take their sentences from here. A mixture is described
by the shares of its candidates, how much better it is than ridge alone and with what certainty,
and whether fewer features would do as well.
"""

import html
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skstretch.core.classes import decided
from skstretch.core.stretch import selects
from skstretch.core.types import Array, Mask
from skstretch.estimators.quality import (
    chance_in_words,
    class_rates,
    left_out,
    many_targets,
    measure_of,
    regression_quality,
    score_in_words,
    selecting,
)
from skstretch.exceptions import IllConditionedWarning, NeedsInverseError
from skstretch.style import count, near_one, number, plain, share, thousands

# features, and candidates, that a sentence names
NAMED = 5
# differences below so many standard errors are none, and below so many may be chance
NONE, CERTAIN = 0.05, 2.0
# the side of a system from which leaving samples out is too much work for a summary
LARGE_SIDE = 3000


def family_name(
    a: float, k: float, density: Any = 1.0, n_features: int = 1, identity: bool = False
) -> str:
    """What candidates of one (a, k, density) have in common, in a few words.

    >>> family_name(0.0, 1.25), family_name(0.0, 2.0, 30, 700)
    ('exact minimiser with k = 1.25', 'ridge on 30 features')
    """
    if identity:
        name = f"stretching with k = {plain(k)}"
    elif a != 0:
        name = f"stretching with a = {plain(a)}, k = {plain(k)}"
    else:
        name = "ridge" if k == 2 else f"exact minimiser with k = {plain(k)}"
    if not selects([density], n_features):
        return name
    if isinstance(density, Integral):
        return f"{name} on {count(int(density), 'feature')}"
    return f"{name} on {share(float(density), 0)} of the features"


def candidate_name(a: float, k: float, c: float, identity: bool = False) -> str:
    """A candidate in a few words, with its c."""
    family = family_name(a, k, identity=identity).removeprefix("stretching with ")
    return f"{family}, c = {number(c)}"


@dataclass(frozen=True)
class Member:
    """A candidate of a mixture: its family in words, its share (the mean over targets), its row."""

    name: str
    c: float
    share: float
    score: float
    row: int


def mixture_members(model: Any) -> list[Member]:
    """The candidates of a mixture, the heaviest first; none where one candidate is the model."""
    table = getattr(model, "_members", None)
    if table is None or len(table["row"]) < 2:
        return []
    D, identity = int(model.n_features_in_), model.quadrant == "identity"
    found = []
    for i, row in enumerate(table["row"].tolist()):
        candidate = float(table["a"][i]), float(table["k"][i]), table["density"][i]
        name = family_name(*candidate, D, identity)
        if "recipe" in table:
            name = f"{name} ({table['recipe'][i]})"
        weight = float(np.mean(table["weight"][i]))
        found.append(Member(name, float(table["c"][i]), weight, float(table["score"][i]), row))
    return found


def candidates_of_targets(model: Any) -> str:
    """The candidates that targets have chosen, each with the numbers of its targets."""
    table, identity = model._members, model.quadrant == "identity"
    words = []
    for i, shares in enumerate(np.asarray(table["weight"])):
        a, k, c = (float(table[name][i]) for name in ("a", "k", "c"))
        numbers = [str(j + 1) for j in np.flatnonzero(shares)]
        many = "targets" if len(numbers) > 1 else "target"
        words.append(f"{many} {', '.join(numbers)}: {candidate_name(a, k, c, identity)}")
    shown = _first(words)
    rest = len(words) - len(shown)
    return "; ".join(shown) + (f"; {rest} others" if rest else "")


def shares_in_words(members: list[Member]) -> str:
    """The heaviest candidates with their shares, and how many others there are."""
    shown = _first(members)
    words = [f"{share(member.share, 0)} {member.name}" for member in shown]
    others = members[len(shown) :]
    if others:
        words.append(f"{share(sum(m.share for m in others), 0)} in {len(others)} others")
    return "; ".join(words)


def _first(found: list[Any]) -> list[Any]:
    """As many as a sentence names; all where only one would be left."""
    return found if len(found) <= NAMED + 1 else found[:NAMED]


def choice(model: Any) -> str:
    """Which candidates are in use, and why, in one sentence."""
    searched, mixed = hasattr(model, "cv_results_"), mixture_members(model)
    if mixed and model.combine != "average":
        own = candidates_of_targets(model)
        return f"Every target has a candidate of its own ({own}): {reason(model)}."
    if mixed:
        several, shares = count(len(mixed), "candidate"), shares_in_words(mixed)
        return f"A mixture of {several} was made ({shares}): {reason(model)}."
    used = model._leader if searched else {**model.get_params(), "c": model.c_}
    a, k, c, density = (used[name] for name in ("a", "k", "c", "density"))
    form, words = _form(model, a, k)
    words, D = f"{words}, c = {number(c)}", int(model.n_features_in_)
    if selects([density], D):
        kept = int(np.atleast_2d(model.support_).any(axis=0).sum())
        words += f", {thousands(kept)} of {count(D, 'feature')}"
    if not searched:
        return f"{form} was asked for ({words}); nothing was searched.{_certificate(model)}"
    return f"{form} was chosen ({words}): {reason(model)}.{_certificate(model)}"


def _form(model: Any, a: float, k: float) -> tuple[str, str]:
    """The kind of one candidate, and its parameters."""
    if model.quadrant == "identity":
        return "Stretching", f"k = {plain(k)} on the features as they are"
    if a != 0:
        return "Stretching", f"a = {plain(a)}, k = {plain(k)}"
    # files of versions without the exact minimiser have other k at a = 0, where all were ridge
    if "newton" in np.atleast_1d(model.solver_):
        return "The exact minimiser", f"a = 0, k = {plain(k)}"
    return "Ridge", "a = 0, the linear limit"


def _certificate(model: Any) -> str:
    """How near the objective of an exact minimiser is to the least."""
    gap = getattr(model, "dual_gap_", None)
    if gap is None:
        return ""
    bound = number(max(float(np.max(gap)), float(np.finfo(float).eps)), 1)
    return f" Its objective is the least but for a share of {bound}."


def reason(model: Any) -> str:
    """Why the search chose its candidate or mixed several, by its rule."""
    results, own = model.cv_results_, int(model.best_index_)
    usable = _usable(results)
    n = int(usable.sum())
    if n == 1:
        return "it was the only candidate to choose from"
    if mixture_members(model):
        ridge = beside_ridge(model)
        if model.combine == "average":
            return f"{ridge}; {fewer_features(model)}"
        return f'combine="{model.combine}" of each; {ridge}'
    if model.combine == "average":
        return f"it is the best of {count(n, 'candidate')}, and no other family has a share"
    if model.combine == "1se":
        within = int(np.sum(results["within_1se"]))
        alike = count(within, "candidate")
        return f"it is the simplest of {alike} within one standard error of the best"
    several = count(n, "candidate")
    nearest = _closest(results, usable & (np.arange(usable.size) != own))
    # files of older versions have rules that are gone
    best = (
        "it is the best" if model.combine == "best" else f'combine="{model.combine}" chose it out'
    )
    return f"{best} of {several}; closest: {_beside(model, nearest)}"


def _usable(results: Any) -> Mask:
    return np.asarray(results["usable"]) & np.isfinite(results["mean_test_score"])


def _closest(results: Any, among: Any) -> int:
    """The candidate with the least loss; files of older versions know scores alone."""
    badness = results.get("loss_above_chosen", -np.asarray(results["mean_test_score"]))
    return int(np.argmin(np.where(among, badness, np.inf)))


def _margin(results: Any, row: int) -> float:
    """How many paired standard errors a candidate is worse than the model; NaN if not known."""
    if "loss_above_chosen" not in results:
        return np.nan
    worse, error = (float(results[f"loss_above_chosen{end}"][row]) for end in ("", "_se"))
    if error > 0:
        return worse / error
    return 0.0 if worse == 0 else np.nan


def _beside(model: Any, row: int) -> str:
    """Another candidate beside the chosen one."""
    results = model.cv_results_
    a, k, c = (float(results[f"param_{name}"][row]) for name in ("a", "k", "c"))
    name, margin = candidate_name(a, k, c, model.quadrant == "identity"), _margin(results, row)
    if not np.isfinite(margin):
        return name
    return f"{name}, {_differs(margin) if abs(margin) >= NONE else 'which does as well'}"


def _differs(margin: float) -> str:
    """How much worse than the model, in standard errors; plainly worse where they are not known."""
    if not np.isfinite(margin):
        return "worse"
    return f"{'worse' if margin > 0 else 'better'} by {abs(margin):.1f} standard errors"


def beside_ridge(model: Any) -> str:
    """How much better a mixture is than the best ridge on all features, and how sure that is."""
    results = model.cv_results_
    ridge = _usable(results) & (np.asarray(results["param_a"]) == 0)
    ridge &= (np.asarray(results["param_k"]) == 2) & ~selecting(model)
    if model.quadrant == "identity" or not ridge.any():
        return "ridge alone was not tried"
    row = _closest(results, ridge)
    measure = measure_of(model)
    own, other = map(measure.write_score, (model.best_score_, results["mean_test_score"][row]))
    figures = f"{other} against {own}" if own != other else f"{own} of both"
    figures = f"{measure.name} {figures}"
    margin = _margin(results, row)
    if not np.isfinite(margin):
        return f"ridge alone beside it: {figures}"
    if abs(margin) < NONE:
        return f"ridge alone does as well ({figures})"
    chance = ", which may be chance" if abs(margin) < CERTAIN else ""
    return f"ridge alone is {_differs(margin)}{chance} ({figures})"


def fewer_features(model: Any) -> str:
    """The smallest number of features whose best candidate is within one standard error of the
    model."""
    tried = _numbers_of_features(model)
    if not tried:
        return "fewer features were not tried"
    for n, margin in tried.items():
        if margin <= 1.0:
            chosen = f"{thousands(n)} of {count(int(model.n_features_in_), 'feature')}"
            return f"{chosen} would do as well (within one standard error)"
    worse = ", ".join(f"{thousands(n)}: {_differs(margin)}" for n, margin in tried.items())
    return f"fewer features would not do as well ({worse})"


def _numbers_of_features(model: Any) -> dict[int, float]:
    """Numbers of features below all that were tried, each with the margin of its best candidate."""
    results, some = model.cv_results_, selecting(model)
    usable, kept = _usable(results), np.rint(results["n_features"]).astype(int)
    # only exact residuals say what a candidate loses
    exact = usable & (np.asarray(results.get("loo", "exact")) == "exact")
    found = {}
    for n in np.unique(kept[usable & some]).tolist():
        among = some & (kept == n)
        rows = among & exact if (among & exact).any() else among & usable
        found[n] = _margin(results, _closest(results, rows))
    return found


# What matters most.


def strongest(
    model: Any, limit: int | None = None, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Features by the size of their effect: the slope times the standard deviation in training.

    `slope` is the change of the prediction (of the score, for classes) for one unit of the raw
    feature at its mean, `effect` that for one standard deviation `sd`; `of` is the class that a
    positive effect speaks for, or the number of the target where there are several.
    """
    slopes = np.atleast_2d(model.coef_)
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
        spread = _scores_in_words(self.model)
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

        One row for each feature and output: its effect for one standard deviation, ``coef_``
        (that for one unit at the mean), standard deviation, mean, and whether the model keeps it.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "summary().frame is a pandas DataFrame, and pandas is not installed: pip install "
                "pandas. The numbers are coef_ and support_."
            ) from error
        slopes, support = np.atleast_2d(self.model.coef_), np.atleast_2d(self.model.support_)
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


def _scores_in_words(model: Any) -> str:
    """The scores of a search, and what chance would do, where that was asked."""
    if not hasattr(model, "best_score_"):
        return ""
    measure = measure_of(model)
    cut = ", scores cut at zero" if is_classifier(model) and measure.lower else ""
    score = f"{measure.name}{cut}: {score_in_words(model, 'best_score_', measure)}"
    if nested := score_in_words(model, "nested_score_", measure):
        score += f"; searched again without {left_out(model)}: {nested}"
    return f"Cross-validated {score}. {chance_in_words(model)}".strip()


def _names(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [*map(str, names)]


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value)


def _html_mixture(model: Any) -> str:
    """The candidates of a mixture as a table that can be opened; nothing where there is one
    candidate."""
    found = mixture_members(model)
    if not found:
        return ""
    write = measure_of(model).write_score
    head = _html_row(["candidates of the mixture", "share", "c", "score alone"], "th")
    rows = [[p.name, share(p.share), number(p.c), write(p.score)] for p in found]
    table = head + "".join(_html_row(row, "td") for row in rows)
    return (
        "<details style='margin:0 0 .6em'><summary>The candidates of the mixture</summary>"
        f"<table style='border-collapse:collapse;font:inherit;color:inherit'>{table}</table>"
        "</details>"
    )


def _html_row(values: list[Any], tag: str) -> str:
    """A row of a table: names to the left, numbers to the right."""
    aligned = ["left", "right", "right", "right", "left"]
    candidates = (
        f"<{tag} style='text-align:{side};padding:.1em .8em .1em 0'>{_safe(value)}</{tag}>"
        for value, side in zip(values, aligned, strict=False)
    )
    return f"<tr>{''.join(candidates)}</tr>"


def _safe(value: Any) -> str:
    return html.escape(str(value), quote=True)
