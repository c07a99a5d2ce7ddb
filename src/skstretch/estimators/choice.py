"""What a search chose or mixed, and why, in words.

A mixture is told by the shares of its cells, how much better it is than ridge alone and with what
certainty, and whether fewer features would do as well.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skstretch.core.stretch import selects
from skstretch.core.types import Array, Mask
from skstretch.search.nested import outer_samples
from skstretch.search.rule import GUARD
from skstretch.style import count, number, plain, share, thousands

# cells of a mixture that a sentence names
NAMED_CELLS = 5
# differences below so many standard errors are none, and below so many may be chance
NONE, CERTAIN = 0.05, 2.0


def family_name(
    a: float, k: float, density: Any = 1.0, n_features: int = 1, identity: bool = False
) -> str:
    """What cells of one (a, k, density) have in common, in a few words.

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


def cell_name(a: float, k: float, c: float, identity: bool = False) -> str:
    """A cell in a few words, with its c."""
    if identity or a != 0:
        form = f"k = {plain(k)}" if identity else f"a = {plain(a)}, k = {plain(k)}"
    else:
        form = family_name(a, k)
    return f"{form}, c = {number(c)}"


@dataclass(frozen=True)
class Part:
    """One cell of a mixture: its family in words, its share (the mean over targets), its row."""

    name: str
    c: float
    share: float
    score: float
    row: int


def parts(model: Any) -> list[Part]:
    """The cells of a mixture, the heaviest first; none where one cell is the model."""
    table = getattr(model, "weights_", None)
    if table is None or len(table["row"]) < 2:
        return []
    D, identity = int(model.n_features_in_), model.quadrant == "identity"
    found = []
    for i, row in enumerate(table["row"].tolist()):
        cell = float(table["a"][i]), float(table["k"][i]), table["density"][i]
        name = family_name(*cell, D, identity)
        if "recipe" in table:
            name = f"{name} ({table['recipe'][i]})"
        weight = float(np.mean(table["weight"][i]))
        found.append(Part(name, float(table["c"][i]), weight, float(table["score"][i]), row))
    return found


def cells_of_targets(model: Any) -> str:
    """The cells that targets have chosen, each with the numbers of its targets."""
    table, identity = model.weights_, model.quadrant == "identity"
    words = []
    for i, shares in enumerate(np.asarray(table["weight"])):
        a, k, c = (float(table[name][i]) for name in ("a", "k", "c"))
        cell = cell_name(a, k, c, identity)
        numbers = [str(j + 1) for j in np.flatnonzero(shares)]
        many = f"targets {', '.join(numbers)}" if len(numbers) > 1 else f"target {numbers[0]}"
        words.append(f"{many}: {cell}")
    shown = words if len(words) <= NAMED_CELLS + 1 else words[:NAMED_CELLS]
    rest = len(words) - len(shown)
    return "; ".join(shown) + (f"; {rest} others" if rest else "")


def shares_in_words(found: list[Part]) -> str:
    """The heaviest cells with their shares, and how many others there are."""
    shown = found if len(found) <= NAMED_CELLS + 1 else found[:NAMED_CELLS]
    words = [f"{share(part.share, 0)} {part.name}" for part in shown]
    others = found[len(shown) :]
    if others:
        words.append(f"{share(sum(p.share for p in others), 0)} in {len(others)} others")
    return "; ".join(words)


def choice(model: Any) -> str:
    """Which cells are in use, and why, in one sentence."""
    searched, mixed = hasattr(model, "cv_results_"), parts(model)
    if mixed and model.rule != "mix":
        return f"Every target has a cell of its own ({cells_of_targets(model)}): {reason(model)}."
    if mixed:
        cells = f"A mixture of {count(len(mixed), 'cell')} was made ({shares_in_words(mixed)})"
        return f"{cells}: {reason(model)}."
    a, k, c, density = (
        getattr(model, f"{name}_" if searched else name) for name in ("a", "k", "c", "density")
    )
    c = model.c_ if isinstance(c, str) else c
    form, words = _form(model, a, k)
    words, D = f"{words}, c = {number(c)}", int(model.n_features_in_)
    if selects([density], D):
        kept = int(np.atleast_2d(model.support_).any(axis=0).sum())
        words += f", {thousands(kept)} of {count(D, 'feature')}"
    if not searched:
        return f"{form} was asked for ({words}); nothing was searched.{_certificate(model)}"
    return f"{form} was chosen ({words}): {reason(model)}.{_certificate(model)}"


def _form(model: Any, a: float, k: float) -> tuple[str, str]:
    """The kind of one cell, and its parameters."""
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
    """Why the search chose its cell or mixed several, by its rule."""
    results, own = model.cv_results_, int(model.best_index_)
    usable = _usable(results)
    n = int(usable.sum())
    if n == 1:
        return "it was the only cell to choose from"
    if parts(model) and model.rule != "mix":
        return f'rule="{model.rule}" of each; {beside_ridge(model)}'
    if parts(model):
        return f"{beside_ridge(model)}; {fewer_features(model)}"
    if model.rule == "mix":
        return f"it is the best of {count(n, 'cell')}, and no other family has a share"
    if model.rule == "1se":
        within = int(np.sum(results["within_1se"]))
        return (
            f"it is the simplest of {count(within, 'cell')} within one standard error of the best"
        )
    linear = np.asarray(results["param_a"]) == 0
    if model.rule == "guarded" and (usable & linear).any() and (usable & ~linear).any():
        return _guarded_reason(model, usable, linear)
    nearest = _closest(results, usable & (np.arange(usable.size) != own))
    return f"it is the best of {count(n, 'cell')}; {_beside(model, nearest, 'closest')}"


def _guarded_reason(model: Any, usable: Any, linear: Any) -> str:
    results = model.cv_results_
    if linear[model.best_index_]:
        rival = _closest(results, usable & ~linear)
        several = np.unique(results["param_k"][usable & linear]).size > 1
        best = "it is the best at a = 0, and " if several else ""
        closest = _beside(model, rival, "closest")
        return f"{best}nothing else was better by two standard errors; {closest}"
    rival = _closest(results, usable & linear)
    what = "ridge" if results["param_k"][rival] == 2 else "every linear model"
    margin = _margin(results, rival)
    by = ""
    if np.isfinite(margin) and margin <= GUARD:
        by = "by the squared error of the scores "
    best = _beside(model, rival, "the best ridge" if what == "ridge" else "the best of these")
    return f"{by}it is better than {what} by more than two standard errors; {best}"


def _usable(results: Any) -> Mask:
    return np.asarray(results["usable"]) & np.isfinite(results["mean_test_score"])


def _closest(results: Any, among: Any) -> int:
    """The cell with the least loss; files of older versions know scores alone."""
    badness = results.get("loss_above_chosen", -np.asarray(results["mean_test_score"]))
    return int(np.argmin(np.where(among, badness, np.inf)))


def _margin(results: Any, row: int) -> float:
    """How many paired standard errors a cell is worse than the model; NaN if not known."""
    if "loss_above_chosen" not in results:
        return np.nan
    worse, error = (float(results[f"loss_above_chosen{end}"][row]) for end in ("", "_se"))
    if error > 0:
        return worse / error
    return 0.0 if worse == 0 else np.nan


def _beside(model: Any, row: int, what: str) -> str:
    """Another cell beside the chosen one."""
    results = model.cv_results_
    a, k, c = (float(results[f"param_{name}"][row]) for name in ("a", "k", "c"))
    name = cell_name(a, k, c, model.quadrant == "identity")
    if what.endswith("ridge"):
        name = name.removeprefix("ridge, ")
    margin = _margin(results, row)
    if not np.isfinite(margin):
        return f"{what}: {name}"
    if abs(margin) < NONE:
        return f"{what}: {name}, which does as well"
    return f"{what}: {name}, {_differs(margin)}"


def _differs(margin: float) -> str:
    return f"{'worse' if margin > 0 else 'better'} by {abs(margin):.1f} standard errors"


# A mixture beside what it is made of.


@dataclass(frozen=True)
class Measured:
    """What the scores of a search are called, and how they are written: losses without a minus."""

    name: str
    form: Callable[[float], str]
    sign: float

    def write(self, score: float, error: float = np.nan) -> str:
        """A score with its standard error, where it has one."""
        spread = f" ± {self.form(error)}" if np.isfinite(error) else ""
        return self.form(self.sign * score) + spread


def measured(model: Any) -> Measured:
    """How the scores of a fitted search are told."""
    if model.scoring is not None or float(model.best_score_) > 0:
        return Measured(model.scoring if isinstance(model.scoring, str) else "score", number, 1.0)
    if is_classifier(model):
        return Measured("balanced error rate", share, -1.0)
    return Measured("mean squared error", number, -1.0)


def beside_ridge(model: Any) -> str:
    """How much better a mixture is than the best ridge on all features, and how sure that is."""
    results = model.cv_results_
    ridge = _usable(results) & (np.asarray(results["param_a"]) == 0)
    ridge &= (np.asarray(results["param_k"]) == 2) & ~_selecting(model)
    if model.quadrant == "identity" or not ridge.any():
        return "ridge alone was not tried"
    row = _closest(results, ridge)
    told = measured(model)
    scores = float(model.best_score_), float(results["mean_test_score"][row])
    own, other = (told.write(score) for score in scores)
    figures = f"{other} against {own}" if own != other else f"{own} of both"
    figures = f"{told.name} {figures}"
    margin = _margin(results, row)
    if not np.isfinite(margin):
        return f"ridge alone beside it: {figures}"
    if abs(margin) < NONE:
        return f"ridge alone does as well ({figures})"
    chance = ", which may be chance" if abs(margin) < CERTAIN else ""
    return f"ridge alone is {_differs(margin)}{chance} ({figures})"


def fewer_features(model: Any) -> str:
    """The smallest number of features whose best cell is within one standard error of the model."""
    tried = _numbers_of_features(model)
    if not tried:
        return "fewer features were not tried"
    for n, margin in tried.items():
        if margin <= 1.0:
            chosen = f"{thousands(n)} of {count(int(model.n_features_in_), 'feature')}"
            return f"{chosen} would do as well (within one standard error)"
    worse = ", ".join(f"{thousands(n)}: {_how_much(margin)}" for n, margin in tried.items())
    return f"fewer features would not do as well ({worse})"


def _how_much(margin: float) -> str:
    return _differs(margin) if np.isfinite(margin) else "worse"


def _numbers_of_features(model: Any) -> dict[int, float]:
    """Numbers of features below all that were tried, each with the margin of its best cell."""
    results, selecting = model.cv_results_, _selecting(model)
    usable, kept = _usable(results), np.rint(results["n_features"]).astype(int)
    # only exact residuals say what a cell loses
    exact = usable & (np.asarray(results.get("loo", "exact")) == "exact")
    found = {}
    for n in np.unique(kept[usable & selecting]).tolist():
        among = selecting & (kept == n)
        rows = among & exact if (among & exact).any() else among & usable
        found[n] = _margin(results, _closest(results, rows))
    return found


def _selecting(model: Any) -> Mask:
    """Cells that keep some of the features."""
    D, densities = int(model.n_features_in_), model.cv_results_["param_density"]
    return np.array([selects([density], D) for density in densities], dtype=bool)


# What it takes to believe a search: its score without the luck of choosing, and chance.


def nested_in_words(model: Any) -> str:
    """The score of a search that never saw the sample, where that is known; else nothing."""
    score = float(getattr(model, "nested_score_", np.nan))
    if not np.isfinite(score):
        return ""
    told = measured(model).write(score, float(getattr(model, "nested_score_se_", np.nan)))
    return f"searched again without {left_out(model)}: {told}"


def left_out(model: Any, noun: str = "sample") -> str:
    """The samples that a nested score is of: each, a draw where there are many, or parts."""
    if getattr(model, "nested_of_", "samples") == "parts":
        return f"parts of the {noun}s"
    n = int(np.sum(model._state.used))
    drawn = outer_samples(n, model._state.n_targets, is_classifier(model)).size
    return (
        f"each {noun}" if drawn == n else f"each of {count(drawn, noun)} drawn from {thousands(n)}"
    )


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
