"""From options and data to a fitted search, and its errors beside those of knowing nothing."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.columns import unknown
from skstretch.cli.console import Talk, counted, in_options
from skstretch.cli.problem import Problem
from skstretch.core.crossfit import paired_error
from skstretch.core.stretch import selects
from skstretch.exceptions import DataError

# below this the penalty 1/(c k) leaves the range of float64
LEAST_C = 1e-249

# how errors are measured, and what knows nothing
SQUARED, BALANCED, PLAIN = "mean squared error", "balanced error rate", "error rate"
MEAN, LARGEST = "predicting the mean", "the largest class"


def numbers(option: str, text: str | None) -> tuple[float, ...]:
    """Numbers with commas between them, ``1.1,1.5,2``; none where the option was not given."""
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found:
        raise DataError(f"{option} {text!r} is not a list of numbers such as 1.1,1.5,2.")
    return found


def powers(text: str | None) -> tuple[float, ...]:
    """The grid of k."""
    for k in (found := numbers("--k", text)):
        if not 1 < k < math.inf:
            raise DataError(
                f"--k {k:g} must be a number above 1: values up to 2 compress the coefficients, 2 "
                "is ridge regression."
            )
    return found


def transforms(text: str | None) -> tuple[float, ...]:
    """The grid of a."""
    for a in (found := numbers("--a", text)):
        if not math.isfinite(a):
            raise DataError(
                f"--a {a:g} must be a finite number: the paper's is -0.2, 0 is plain ridge."
            )
    return found


def strengths(text: str | None) -> Any:
    """The grid of c: ``auto`` or numbers."""
    if text is None or text.strip() == "auto":
        return "auto"
    for c in (found := numbers("--c", text)):
        if not c >= LEAST_C:
            raise DataError(
                f"--c {c:g} must be a number above 0: a large one regularises little, inf not at "
                "all."
            )
    return found


def densities(shares: str | None, counts: str | None) -> Any:
    """Shares of features to keep, and counts of them; ``auto`` where neither is given."""
    found: list[Any] = list(numbers("--density", shares))
    for share in found:
        if not 0 < share <= 1:
            raise DataError(
                f"--density {share:g} must lie above 0 and not above 1; for a count use --keep."
            )
    for count in numbers("--keep", counts):
        if count < 1 or not count.is_integer():
            raise DataError(f"--keep {count:g} must be a whole number from 1.")
        found.append(int(count))
    return tuple(found) or "auto"


def named_factors(words: Sequence[str] | None) -> dict[str, float]:
    """Penalty factors by the names of their columns, from ``NAME=NUMBER``."""
    found: dict[str, float] = {}
    for word in words or ():
        name, equals, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not equals or not value >= 0:
            raise DataError(
                f"--penalty-factor {word!r} is not a column and a number from 0, such as age=0."
            )
        if found.setdefault(name, value) != value:
            raise DataError(
                f"--penalty-factor names {name!r} twice, with {found[name]:g} and {value:g}."
            )
    return found


def penalty_factors(named: Mapping[str, float], problem: Problem) -> Any:
    """One factor for every feature, None where none was named."""
    if not named:
        return None
    if problem.recipe.filters:
        raise DataError(
            "--penalty-factor with --snv, --detrend, --derivative or --recipes: these take all "
            "columns for one spectrum, in which no column stands for itself."
        )
    n_features = problem.X.shape[1]
    # columns without names go by their numbers from 1
    names = problem.names or [str(number) for number in range(1, n_features + 1)]
    place = {name: column for column, name in enumerate(names)}
    factors = np.ones(n_features)
    for name, value in named.items():
        if name == problem.target:
            raise DataError(f"--penalty-factor names the target {name!r}.")
        if name not in place:
            raise DataError(unknown("--penalty-factor", name, names))
        factors[place[name]] = value
    return factors


def asked_to_select(grid: Any, n_features: int) -> bool:
    """Whether a grid of densities that was asked for keeps some of the features."""
    return not isinstance(grid, str) and selects(grid, n_features)


def check_counts(grid: Any, n_features: int) -> None:
    """Refuse to keep more features than there are."""
    for count in () if isinstance(grid, str) else grid:
        if isinstance(count, int) and count > n_features:
            raise DataError(
                f"--keep {count}: the file has {counted(n_features, 'feature')}; to keep all of "
                "them as one of the choices use --density 1."
            )


def fold_number(text: str | None) -> int | None:
    """How many folds were asked for; None for ``loo`` and where nothing was said."""
    word = "loo" if text is None else text.strip().lower()
    if word == "loo":
        return None
    if not word.isdecimal() or int(word) < 2:
        raise DataError(f"--cv {text!r} is not known: use loo, or a number of folds from 2.")
    return int(word)


def splitter(text: str | None, groups: bool, classifies: bool, compressed: bool) -> Any:
    """A splitter, or None for the default of the estimator.

    ``loo`` leaves one row out, or with groups one group; a number is that many folds, shuffled
    with a fixed seed, of whole groups where there are groups.
    """
    from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut

    number = fold_number(text)
    if number is None:
        if groups:
            return LeaveOneGroupOut()
        return LeaveOneOut() if text is not None and compressed else None
    return shuffled(number, groups, classifies)


def shuffled(number: int, groups: bool, classifies: bool, seed: int = 0) -> Any:
    """A splitter into folds: of shuffled rows, by class for classes, or of whole groups."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if groups:
        return GroupKFold(number)
    kind = StratifiedKFold if classifies else KFold
    return kind(number, shuffle=True, random_state=seed)


def folds_named(text: str | None, groups: bool, compressed: bool) -> str:
    """The folds in words."""
    number = fold_number(text)
    if number is not None:
        return f"exact {number}-fold" + (" over groups" if groups else "")
    if groups:
        return "exact, leave one group out"
    return "exact 10-fold" if compressed and text is None else "exact leave-one-out"


def check_number(option: str, number: int, problem: Problem) -> None:
    """Refuse more folds than there are groups or rows."""
    groups = problem.groups is not None
    units = len(np.unique(problem.groups)) if groups else problem.X.shape[0]
    if number > units:
        loo = ", or loo" if option == "--cv" else ""
        raise DataError(
            f"{option} {number}: there are only {units:,} {'groups' if groups else 'rows'}; use at "
            f"most {units:,}{loo}."
        )


def check_classes(
    option: str, number: int, problem: Problem, note: Callable[[str], None] | None = None
) -> None:
    """Refuse more folds than a class has rows; with `note`, only where all classes are so small."""
    if not problem.classifies or problem.groups is not None:
        return
    names, sizes = np.unique(problem.y, return_counts=True)
    least = int(sizes.min())
    if number <= least:
        return
    smallest = str(names[sizes.argmin()])
    message = f"{option} {number}: the class {smallest!r} has {counted(least, 'row')}"
    if note is None or number > sizes.max():
        raise DataError(f"{message}, fewer than there are folds.")
    note(f"{message}, so some folds have none of it.")


def check_groups(problem: Problem) -> None:
    """Refuse a single group, which cannot be left out."""
    if problem.groups is not None and len(np.unique(problem.groups)) < 2:
        raise DataError("--groups: all rows are of one group; at least two groups are needed.")


@dataclass(frozen=True)
class Plan:
    """What to search, and how to judge it."""

    cv: str | None = None
    grid: Any = None
    rule: str = "mix"
    factors: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        cv: str | None,
        k: str | None,
        c: str | None,
        a: str | None,
        density: str | None,
        keep: str | None,
        rule: str,
    ) -> "Plan":
        """From the options; refuses what cannot be read before any data are."""
        fold_number(cv)
        grid = {"c_grid": strengths(c), "density_grid": densities(density, keep)}
        grid |= {"k_grid": powers(k)} if k is not None else {}
        grid |= {"a_grid": transforms(a)} if a is not None else {}
        return cls(cv, grid, str(rule))

    def check(self, problem: Problem, talk: Talk) -> None:
        """Refuse what does not go with the data."""
        check_counts(self.grid["density_grid"], problem.X.shape[1])
        check_groups(problem)
        number = fold_number(self.cv)
        if number is not None:
            check_number("--cv", number, problem)
            check_classes("--cv", number, problem, talk.note)

    def folds(self, problem: Problem) -> Any:
        """The splitter."""
        compressed = asked_to_select(self.grid["density_grid"], problem.X.shape[1])
        return splitter(self.cv, problem.groups is not None, problem.classifies, compressed)

    def folds_named(self, problem: Problem, model: Any) -> str:
        """The folds of a fitted search in words."""
        D, groups = problem.X.shape[1], problem.groups is not None
        compressed = asked_to_select(self.grid["density_grid"], D)
        words = folds_named(self.cv, groups, compressed)
        by_itself = not compressed and selects(model.cv_results_["param_density"].tolist(), D)
        if by_itself and not groups and fold_number(self.cv) is None:
            return f"{words} (10-fold where features are selected)"
        return words


def search_of(problem: Problem, plan: Plan, talk: Talk) -> Any:
    """The search, or that of all recipes, not fitted yet."""
    from skstretch import (
        RecipeClassifierCV,
        RecipeRegressorCV,
        StretchyClassifierCV,
        StretchyRegressorCV,
    )

    classes, several = problem.classifies, problem.recipe.recipes
    own = (StretchyClassifierCV if classes else StretchyRegressorCV)(
        **plan.grid,
        penalty_factor=penalty_factors(plan.factors, problem),
        cv=plan.folds(problem),
        rule=plan.rule,
        nested=not several,
        verbose=int(talk.shows_progress),
    )
    if not several:
        return own
    return (RecipeClassifierCV if classes else RecipeRegressorCV)(own)


def searched(problem: Problem, plan: Plan, talk: Talk) -> tuple[Any, float]:
    """The fitted estimator, and the seconds that it took."""
    from sklearn.pipeline import Pipeline, make_pipeline

    plan.check(problem, talk)
    own, steps = search_of(problem, plan, talk), problem.recipe.steps()
    model = make_pipeline(*steps, own) if steps else own
    more = {"sample_weight": problem.weights}
    more |= {} if problem.groups is None else {"groups": problem.groups}
    if steps:
        more = {f"{type(own).__name__.lower()}__{name}": value for name, value in more.items()}
    start = perf_counter()
    try:
        with talk.warnings(problem.names):
            # the note of `Plan.check` says it in other words
            warnings.filterwarnings("ignore", "The least populated class")
            model.fit(problem.X, problem.y, **more)
    except ValueError as error:
        raise DataError(in_options(str(error), problem.names)) from error
    if problem.recipe.recipes:
        model = Pipeline([*(model.steps[:-1] if steps else []), *own.pipeline_.steps])
    if problem.names is not None:
        first = model.steps[0][1] if steps or problem.recipe.recipes else model
        first.feature_names_in_ = np.array(problem.names, dtype=object)
    return model, perf_counter() - start


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True)
class Judged:
    """Error of a model and of the baseline, by one measure."""

    measure: str
    model: Estimate
    baseline: Estimate
    baseline_name: str


def estimate(losses: Any, weights: Any = None, groups: Any = None) -> Estimate:
    """Weighted mean of losses, and its standard error; without weights every row counts once."""
    return Estimate(*paired_error(losses, _ones(losses) if weights is None else weights, groups))


def _ones(values: Any) -> Any:
    return np.ones(len(values))


def left_out_means(y: Any, weights: Any = None, groups: Any = None) -> Any:
    """For every row the mean of the others, or of those outside its group."""
    weights = _ones(y) if weights is None else weights
    units = np.arange(len(y)) if groups is None else groups
    sums = np.bincount(units, weights=weights * y)[units]
    totals = np.bincount(units, weights=weights)[units]
    rest = weights.sum() - totals
    means = (weights @ y - sums) / np.where(rest > 0, rest, 1.0)
    return np.where(rest > 0, means, weights @ y / weights.sum())


def squared_error(y: Any, predictions: Any, weights: Any = None, groups: Any = None) -> Judged:
    """Mean squared error beside that of predicting the mean of the other rows."""
    means = left_out_means(y, weights, groups)
    return Judged(
        SQUARED,
        estimate(np.square(y - predictions), weights, groups),
        estimate(np.square(y - means), weights, groups),
        MEAN,
    )


def error_rates(
    codes: Any, predicted: Any, n_classes: int, weights: Any = None, groups: Any = None
) -> list[Judged]:
    """Balanced error rate (the mean over classes) and error rate, beside the largest class."""
    own = _ones(codes) if weights is None else weights
    sizes = np.bincount(codes, weights=own, minlength=n_classes)
    present = np.count_nonzero(sizes)
    balance = (own.sum() / (present * np.where(sizes > 0, sizes, np.inf)))[codes]
    wrong, other = predicted != codes, codes != np.argmax(sizes)
    return [
        Judged(
            measure,
            estimate(wrong * factor, weights, groups),
            estimate(other * factor, weights, groups),
            LARGEST,
        )
        for measure, factor in ((BALANCED, balance), (PLAIN, 1.0))
    ]


def cross_validated(model: Any, problem: Any) -> list[Judged]:
    """Errors of a fitted search, that of its score first, beside knowing nothing."""
    first, *others = _out_of_fold(model, problem)
    return [replace(first, model=Estimate(-model.best_score_, model.best_score_se_)), *others]


def _out_of_fold(model: Any, problem: Any) -> list[Judged]:
    scores, units = model.cv_predictions_, (problem.weights, problem.groups)
    if not problem.classifies:
        return [squared_error(problem.y, scores, *units)]
    predicted = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    codes = np.searchsorted(model.classes_, problem.y)
    codes = codes.clip(max=model.classes_.size - 1)
    return error_rates(codes, predicted, model.classes_.size, *units)
