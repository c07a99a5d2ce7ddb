"""A fitted model in sentences: what was found, how far to trust it, and what matters most.

The command line, the report and notebooks take their sentences from here. The first figure is the
one to trust: that of the search repeated on other samples, where it was.
"""

import html
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from numbers import Integral
from typing import Any, cast

import numpy as np
from sklearn.base import is_classifier

from skstretch.core.classes import decided
from skstretch.core.stretch import selects
from skstretch.core.types import Array, Index, Mask
from skstretch.estimators.quality import (
    CERTAIN,
    NONE,
    WORDS,
    Evidence,
    Rival,
    beside_ridge,
    chance_in_words,
    evidence_of,
    kind_of,
    left_out_means,
    measure_of,
    needs,
    repetitions,
    score_in_words,
    selecting,
    several_verdicts,
    verdict,
)
from skstretch.estimators.samples import sentences
from skstretch.estimators.state import pandas_for
from skstretch.exceptions import IllConditionedWarning, NeedsInverseError
from skstretch.style import count, either, near_one, number, plain, share, thousands

# features, and models, that a text names
NAMED = 5
# pairs of halves that agree on a sign that is called stable
SURE = 0.95
# how wide a summary is, and how long its table
WIDTH, ROWS = 88, 12
# only where a number of features in this range was tried is it said that fewer would not do
FEW = (3, 20)
# the side of a system from which leaving samples out is too much work for a summary
LARGE_SIDE = 3000
HOW = "nested_cv=10"
# what is predicted where y has no name; and what effects are changes of, by loss
UNNAMED = ("the target", "the order of events")
SCORES = {
    "poisson": "the logarithm of the rate",
    "log": "the log-odds of its class",
    "cox": "the logarithm of the hazard",
}


def kind_name(a: float, k: float, identity: bool = False) -> str:
    """The kind of a model: ridge, sparse linear, linear or curved.

    >>> kind_name(0.0, 1.25), kind_name(-0.2, 2.0)
    ('sparse linear', 'curved')
    """
    if identity or (a == 0 and k > 2):
        return "linear"
    if a != 0:
        return "curved"
    return "ridge" if k == 2 else "sparse linear"


def family_name(
    a: float,
    k: float,
    density: Any = 1.0,
    n_features: int = 1,
    identity: bool = False,
    kept: float = np.inf,
) -> str:
    """What models of one (a, k, density) have in common, in a few words.

    `kept` are the features that are left where fewer than asked for could be selected.

    >>> family_name(0.0, 1.25), family_name(0.0, 2.0, 30, 700, kept=22)
    ('sparse linear, k = 1.25', 'ridge, 22 features (30 asked for)')
    """
    name = kind_name(a, k, identity)
    if name == "curved":
        name += f", a = {plain(a)}"
    if name != "ridge":
        name += f", k = {plain(k)}"
    if not selects([density], n_features):
        return name
    if isinstance(density, Integral):
        if kept <= int(density) - 0.5:
            return f"{name}, {count(round(kept), 'feature')} ({thousands(density)} asked for)"
        return f"{name}, {count(int(density), 'feature')}"
    return f"{name}, {share(float(density), 0)} of the features"


def candidate_name(a: float, k: float, c: float, identity: bool = False) -> str:
    """A candidate in a few words, with its c."""
    return f"{family_name(a, k, identity=identity)}, c = {number(c)}"


@dataclass(frozen=True)
class Member:
    """One of the averaged models: its words, its share (the mean over targets), its row."""

    name: str
    kind: str
    c: float
    share: float
    score: float
    row: int


def mixture_members(model: Any) -> list[Member]:
    """The averaged models, the heaviest first; none where one candidate is the model."""
    table = getattr(model, "_members", None)
    if table is None or len(table["row"]) < 2:
        return []
    D, identity = int(model.n_features_in_), model.quadrant == "identity"
    found = []
    for i, row in enumerate(table["row"].tolist()):
        candidate = float(table["a"][i]), float(table["k"][i]), table["density"][i]
        kept = float(model.cv_results_["n_features"][row])
        name = family_name(*candidate, D, identity, kept)
        if "recipe" in table:
            name = f"{name} ({table['recipe'][i]})"
        weight = float(np.mean(table["weight"][i]))
        kind = kind_name(*candidate[:2], identity)
        figures = float(table["c"][i]), weight, float(table["score"][i])
        found.append(Member(name, kind, *figures, row))
    return found


def mixture_rows(model: Any) -> list[tuple[str, str, str, str]]:
    """Names, weights, strengths c and errors of the averaged models, as text."""
    return [
        (one.name, share(one.share), number(one.c), measure_of(model, True).write_score(one.score))
        for one in mixture_members(model)
    ]


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


def _first(found: list[Any], most: int = NAMED) -> list[Any]:
    """As many as a sentence names; all where only one would be left."""
    return found if len(found) <= most + 1 else found[:most]


def choice(model: Any) -> str:
    """What the model is, in one sentence."""
    searched, averaged = hasattr(model, "cv_results_"), mixture_members(model)
    if averaged and model.combine != "average":
        return f"Every target has a model of its own ({candidates_of_targets(model)})."
    if averaged:
        return f"The average of {count(len(averaged), 'model')}, {_mostly(averaged)} (table below)."
    used = model._leader if searched else {**model.get_params(), "c": model.c_}
    a, k, c, density = (used[name] for name in ("a", "k", "c", "density"))
    words = f"{_form(model, a, k)}, c = {number(c)}"
    if selects([density], D := int(model.n_features_in_)):
        kept = int(np.atleast_2d(model.support_).any(axis=0).sum())
        words += f", {thousands(kept)} of {count(D, 'feature')}"
    return f"{words}: {reason(model) if searched else 'as asked for, nothing was searched'}."


def _mostly(members: list[Member]) -> str:
    """The kind that has most of the weight, where there is one."""
    kinds: dict[str, float] = {}
    for member in members:
        kinds[member.kind] = kinds.get(member.kind, 0.0) + member.share
    kind = max(kinds, key=lambda each: kinds[each])
    if len(kinds) == 1:
        return f"all of them {kind}"
    return f"mostly {kind} ones" if kinds[kind] > 0.5 else "of several kinds"


def _form(model: Any, a: float, k: float) -> str:
    """One model as the start of a sentence."""
    if model.quadrant == "identity":
        return f"A linear model of the features as they are, k = {plain(k)}"
    if a != 0:
        return f"A sum of one curve per feature, a = {plain(a)}, k = {plain(k)}"
    # files of older versions have other k at a = 0, where all were ridge
    if "newton" not in np.atleast_1d(model.solver_):
        return "Ridge regression"
    return f"A {kind_name(a, k)} model, k = {plain(k)}"


def reason(model: Any) -> str:
    """Why the search took its one candidate."""
    results = model.cv_results_
    n = int(_usable(results).sum())
    if n == 1:
        return "the only model that was tried"
    if model.combine == "1se":
        alike = count(int(np.sum(results["within_1se"])), "model")
        return f"the simplest of {alike} within one standard error of the best"
    # files of older versions have ways that are gone
    known = model.combine in ("average", "best")
    best = "the best" if known else f'chosen by combine="{model.combine}" out'
    return f"{best} of {count(n, 'model')} that were tried"


def _usable(results: Any) -> Mask:
    return np.asarray(results["usable"]) & np.isfinite(results["mean_test_score"])


def _closest(results: Any, among: Any) -> int:
    """The candidate with the least loss; files of older versions know scores alone."""
    badness = results.get("loss_above_chosen", -np.asarray(results["mean_test_score"]))
    return int(np.argmin(np.where(among, badness, np.inf)))


def ridge_of(model: Any) -> Rival | None:
    """The best ridge on all features in the cross-validation of a search, where it is known."""
    results = model.cv_results_
    ridge = _usable(results) & (np.asarray(results["param_a"]) == 0)
    ridge &= (np.asarray(results["param_k"]) == 2) & ~selecting(model)
    missing = "loss_above_chosen" not in results or model.scoring is not None
    if model.quadrant == "identity" or not ridge.any() or missing:
        return None
    row = _closest(results, ridge)
    above, error = (float(results[f"loss_above_chosen{end}"][row]) for end in ("", "_se"))
    loss = float(measure_of(model).of_scores(results["mean_test_score"][row]))
    loss = 1.0 - loss if kind_of(model) == "survival" else loss
    return Rival(loss, above, error)


def fewer_features(model: Any) -> str:
    """What the search says of models of fewer features, in one sentence; nothing without any."""
    tried = _numbers_of_features(model)
    if not tried:
        return ""
    if all(m >= CERTAIN for m in tried.values()) and any(FEW[0] <= n <= FEW[1] for n in tried):
        return f"Fewer features ({either(map(thousands, tried))}) do not do as well."
    said = [
        f"with {either(map(thousands, numbers))} features it is {verdict}"
        for verdict, numbers in groupby(tried, lambda n: _differs(tried[n]))
    ]
    return f"{'; '.join(said)}.".capitalize()


def _differs(margin: float) -> str:
    """How a model of fewer features compares, by standard errors of paired differences."""
    if not np.isfinite(margin):
        return "not known"
    if abs(margin) < NONE:
        return "not told apart"
    way = "worse" if margin > 0 else "better"
    return way if margin >= CERTAIN else f"slightly {way}, perhaps by chance"


def _numbers_of_features(model: Any) -> dict[int, float]:
    """Numbers of features below all that were tried, each with the margin of its best candidate.

    Not the number of the model itself.
    """
    results, some = model.cv_results_, selecting(model)
    usable, kept = _usable(results), np.rint(results["n_features"]).astype(int)
    # only exact residuals say what a candidate loses
    exact = usable & (np.asarray(results.get("loo", "exact")) == "exact")
    own, found = int(np.atleast_2d(model.support_).any(axis=0).sum()), {}
    for n in np.setdiff1d(kept[usable & some], own).tolist():
        among = some & (kept == n)
        rows = among & exact if (among & exact).any() else among & usable
        found[n] = _margin(results, _closest(results, rows))
    return found


def _margin(results: Any, row: int) -> float:
    """How many paired standard errors a candidate is worse than the model; NaN if not known."""
    if "loss_above_chosen" not in results:
        return np.nan
    worse, error = (float(results[f"loss_above_chosen{end}"][row]) for end in ("", "_se"))
    if error > 0:
        return worse / error
    return 0.0 if worse == 0 else np.nan


# How well it does.


def sampling(model: Any, given: Array | None = None) -> tuple[Array, Index | None]:
    """Weights of the samples that were used, as numbers of samples (M,), and their groups or None.

    A search remembers both. Else they are the weights of the fit that were `given` again, or those
    that the model has, as far as these are not also of classes; and what was left out together.
    """
    if hasattr(model, "_sampling"):
        return cast(tuple[Array, Index | None], model._sampling)
    kind, weights = kind_of(model), model._state.model.weights if given is None else given
    of_classes = given is None and kind == "classes" and model.class_weight is not None
    if of_classes or not np.isfinite(weights).all():
        weights = np.ones(weights.size)
    units = model._state.units
    grouped = units is not None and units.codes.size > 0
    return repetitions(kind, weights), units.codes if grouped else None


def plain_evidence(
    model: Any, outputs: Array, Y: Array, weights: Array, groups: Index | None
) -> list[Evidence]:
    """Of held-out outputs (M, t) beside the mean of the other samples, for each target.

    Of counts, outputs are rates. Of classes they are scores, and are cut where the model cuts.
    """
    known = np.isfinite(outputs).all(axis=1)
    outputs, Y, weights = outputs[known], Y[known], weights[known]
    groups = None if groups is None else np.unique(groups[known], return_inverse=True)[1]
    # nothing was chosen where all parameters were given
    trusted = not hasattr(model, "cv_results_") and not isinstance(model.c, str)
    kind, nothing = kind_of(model), np.zeros(len(Y))
    y: Any = Y[:, 0]
    predicted: Any = outputs[:, 0]
    if kind == "classes":
        predicted = decided(outputs - np.atleast_1d(model.threshold_))
        y = decided(Y)
        nothing = np.full(y.size, float(np.argmax(np.bincount(y, weights=weights))))
    elif kind == "numbers":
        y, predicted = Y, outputs
        nothing = np.column_stack([left_out_means(each, weights, groups) for each in Y.T])
    elif kind == "counts":
        nothing = left_out_means(y, weights, groups)
    guesses = {"model": predicted, "mean": nothing}
    found = evidence_of(kind, y, guesses, weights, groups, trusted=trusted)
    if len(found) == 1 and hasattr(model, "cv_results_"):
        found = [replace(found[0], ridge=ridge_of(model))]
    return found


def stored_evidence(model: Any) -> list[Evidence] | None:
    """Of the search repeated on other samples, where it was."""
    found = getattr(model, "nested_results_", None)
    if found is None:
        return None
    rivals = [
        {name: each[name] and Rival(**each[name]) for name in ("mean", "ridge")} for each in found
    ]
    return [Evidence(**{**one, **two}) for one, two in zip(found, rivals, strict=True)]


def verdict_of(model: Any, evidence: list[Evidence], names: Sequence[str]) -> str:
    """What was found, and how it compares with ridge regression."""
    if len(evidence) > 1:
        return several_verdicts(evidence, [*names])
    one = evidence[0]
    first = verdict(one, names[0], model.classes_.size if is_classifier(model) else 0)
    if one.found and one.trusted and one.words.explained:
        first += f" {one.words.explained} is {near_one(one.r2)}."
    return f"{first} {beside_ridge(one)}".strip()


def trust(model: Any, evidence: list[Evidence] | None) -> str:
    """What is odd about the samples, and where figures are from."""
    odd = [text for _, text in sentences(getattr(model, "_noticed", {}))]
    return " ".join(filter(None, [*odd, _origin(model, evidence)]))


def _origin(model: Any, evidence: list[Evidence] | None) -> str:
    """Where the first figure is from, the other one, and what they rest on; or how to get one."""
    if evidence is not None and not evidence[0].enough:
        return ""
    rests = needs(evidence[0]) if evidence is not None and evidence[0].trusted else ""
    if not hasattr(model, "best_score_"):
        own = f"{type(model).__name__}CV({HOW})"
        chosen = f"c was chosen on the same samples; {own} gives an error that has not seen them."
        return rests if evidence is None or evidence[0].trusted else f"Its {chosen}"
    measure, short = measure_of(model, root=True), WORDS[kind_of(model)].short
    seen = f"{measure.name} {score_in_words(model, 'best_score_', measure)}"
    nested = score_in_words(model, "nested_score_", measure)
    if evidence is None and nested:
        first = f"When the whole search is repeated on other samples: {measure.name} {nested}."
    elif nested and model.scoring is not None:
        first = f"These are of the whole search repeated on other samples: {measure.name} {nested}."
    elif nested:
        first = f"This is the {short} when the whole search is repeated on other samples."
    else:
        seen = f"{seen}. " if evidence is None or model.scoring is not None else ""
        known = f"In a cross-validation that has seen the choice among models: {seen}" * bool(seen)
        one = "an error" if short == "error" else f"a {short}"
        return f"{known}Fit with {HOW} for {one} that has not seen the choice."
    return f"{first} {rests} The plain cross-validation has seen the choice: {seen}.".replace(
        "  ", " "
    )


# What matters most.


def strongest(
    model: Any, limit: int | None = None, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Features by the size of their effect: the slope times the standard deviation in training.

    `slope` is the change of the prediction (of the score, for classes) for one unit of the raw
    feature at its mean, `effect` that for one standard deviation `sd`; `of` is the class that a
    positive effect speaks for, or the target where there are several.
    """
    slopes = np.atleast_2d(model.coef_)
    sd = model._state.quadrant.moments.scale
    effects = slopes * sd
    size = np.abs(effects).max(axis=0)
    order = np.argsort(-size, kind="stable")[:limit]
    names, of = feature_names(model) if names is None else names, output_names(model)
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


def stable_signs(model: Any) -> str:
    """Whose signs are stable, where `effects` was asked for; nothing else."""
    table = getattr(model, "effects_", None)
    if table is None:
        return ""
    sizes, shares = (np.asarray(table[name]) for name in ("effect_per_sd", "sign_stability"))
    stable = (shares >= SURE) & (sizes != 0.0)
    if not stable.any():
        return f"No effect has a sign that {share(SURE, 0)} of pairs of halves agree on."
    order = [i for i in np.argsort(-np.abs(sizes), kind="stable") if stable[i]]
    names = dict.fromkeys(str(table["feature"][i]) for i in order)
    more = " and others" if len(names) > NAMED else ""
    return (
        f"Signs that {share(SURE, 0)} of pairs of halves agree on: {int(stable.sum()):,} of "
        f"{thousands(stable.size)} ({', '.join(list(names)[:NAMED])}{more})."
    )


def output_names(model: Any) -> list[Any]:
    """What each output of a model stands for."""
    n = len(np.atleast_2d(model.coef_))
    if hasattr(model, "classes_"):
        classes = model.classes_.tolist()
        return classes[1:] if n == 1 else classes
    return [None] if n == 1 else [*target_names(model)]


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

    @cached_property
    def evidence(self) -> list[Evidence] | None:
        """Held-out errors for each target: of the search repeated on other samples, else plain."""
        if (stored := stored_evidence(self.model)) is not None:
            return stored
        outputs, fitted = self._held_out(), self.model._state.model
        if outputs is None or not np.isfinite(fitted.Y).all():
            return None
        return plain_evidence(self.model, outputs, fitted.Y, *sampling(self.model))

    @cached_property
    def error(self) -> str:
        """What was found, how far to trust it, and how ridge regression and the mean compare."""
        told = trust(self.model, self.evidence), chance_in_words(self.model)
        if self.evidence is None:
            return " ".join(filter(None, told)) or "Its error on new samples is not known."
        found = verdict_of(self.model, self.evidence, target_names(self.model))
        return " ".join(filter(None, [found, *told]))

    @property
    def choice(self) -> str:
        """What the model is, and whether one of fewer features would do."""
        found = self.evidence is None or any(each.found for each in self.evidence)
        fewer = found and hasattr(self.model, "cv_results_")
        return f"{choice(self.model)} {fewer_features(self.model) if fewer else ''}".strip()

    @property
    def table(self) -> str:
        """The averaged models with their weights; nothing where there is one model."""
        members = mixture_members(self.model)
        if not members:
            return ""
        measure = measure_of(self.model, root=True)
        width = max(len(member.name) for member in members)
        # targets of a regression choose alone, and the model of each may be one candidate
        averaged = getattr(self.model, "combine", "average") == "average"
        what = "Averaged models, their weights" if averaged else "Chosen models, shares of targets"
        lines = [f"{what} and strengths c, and the {measure.name} of each:"]
        for each in _first(members, ROWS):
            figures = f"c = {number(each.c, 2)}", measure.write_score(each.score)
            lines.append(f"  {share(each.share, 0):>5}  {each.name:<{width}}  {'  '.join(figures)}")
        if rest := members[len(lines) - 1 :]:
            lines.append(f"  {share(sum(m.share for m in rest), 0):>5}  in {len(rest)} others")
        return "\n".join(lines)

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

    @property
    def effects(self) -> str:
        """The strongest features, with signs and units."""
        found = strongest(self.model, NAMED)
        if not found:
            return "No feature has an effect."
        classes, names = is_classifier(self.model), target_names(self.model)
        what = "the score of its class" if classes else "the prediction"
        what = SCORES.get(self.model._state.loss, what)
        what += "" if names[0] in UNNAMED or classes or len(names) > 1 else f" of {names[0]}"
        title = f"Strongest features, and the change of {what} for one standard deviation:"
        if self.evidence is not None and not any(each.found for each in self.evidence):
            title = f"Nothing shows that features matter. Largest changes of {what}:"
        lines = [_wrapped(title)]
        width = max(len(one["feature"]) for one in found)
        for one in found:
            of = "" if one["of"] is None else f" of {one['of']}"
            lines.append(
                f"  {one['feature']:<{width}}  {_signed(one['effect'])}{of}"
                f"  ({_signed(one['slope'])} per unit, sd {number(one['sd'])})"
            )
        return "\n".join([*lines, *filter(None, [_wrapped(stable_signs(self.model))])])

    @property
    def frame(self) -> Any:
        """All features by the size of their effect, as a pandas DataFrame.

        One row for each feature and output: its effect for one standard deviation, ``coef_``
        (that for one unit at the mean), standard deviation, mean, and whether the model keeps it.
        """
        pd = pandas_for("summary().frame", "coef_ and support_")
        slopes, support = np.atleast_2d(self.model.coef_), np.atleast_2d(self.model.support_)
        moments, names = self.model._state.quadrant.moments, feature_names(self.model)
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
        texts = self.error, self.choice
        parts = [self.title, *(_wrapped(text) for text in texts), self.effects, self.table]
        return "\n".join(filter(None, parts))

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
            f"<p style='margin:0 0 .4em'>{_safe(self.error)}</p>"
            f"<p style='margin:0 0 .6em'>{_safe(unbroken)}</p>"
            f"{_html_mixture(self.model)}"
            "<table style='border-collapse:collapse;font:inherit;color:inherit'>"
            f"{table}</table></div>"
        )


def _wrapped(text: str) -> str:
    """Lines of at most WIDTH; what belongs together stays on one."""
    whole = text.replace(" = ", "\u00a0=\u00a0")
    return "\n".join(textwrap.wrap(whole, WIDTH, break_long_words=False, break_on_hyphens=False))


def target_names(model: Any) -> list[str]:
    """What is predicted: the names of y where it had some."""
    if kind_of(model) == "survival":
        return [UNNAMED[1]]
    given = getattr(model, "_target_names", None)
    t = 1 if is_classifier(model) else len(np.atleast_2d(model.coef_))
    if given and len(given) == t:
        return [str(name) for name in given]
    return [UNNAMED[0]] if t == 1 else [f"target {j}" for j in range(1, t + 1)]


def feature_names(model: Any) -> list[str]:
    """The names of the features, or their numbers from x0."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [*map(str, names)]


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + number(value)


def _html_mixture(model: Any) -> str:
    """The averaged models as a table that can be opened; nothing where there is one model."""
    found = mixture_rows(model)
    if not found:
        return ""
    head = _html_row(["model", "weight", "c", f"{measure_of(model, root=True).name} alone"], "th")
    table = head + "".join(_html_row([*row], "td") for row in found)
    return (
        "<details style='margin:0 0 .6em'><summary>The averaged models</summary>"
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
