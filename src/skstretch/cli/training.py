"""Learning from a file: features and a target that can be fitted, the search, what it found.

A target is one column, or two: an event and its time, counts and their exposure.
"""

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.columns import (
    Note,
    TrainingColumns,
    Values,
    check_features,
    check_infinite,
    dropping,
    exposed,
    is_spectrum,
    leave_out_index,
    missing_counts,
    missing_message,
    note_identifiers,
    read_table,
    read_values,
    survival,
    unknown,
)
from skstretch.cli.console import Talk, in_options, on_terminal
from skstretch.cli.data.files import Form, Table
from skstretch.cli.data.matrices import read_vector
from skstretch.cli.options import (
    Aim,
    Chosen,
    LossName,
    Plan,
    Recipe,
    TaskName,
    fold_number,
    named_factors,
)
from skstretch.core.classes import decided
from skstretch.core.crossfit import paired_error
from skstretch.core.stretch import selects
from skstretch.core.survival import signed_times
from skstretch.estimators.inputs import N_FOLDS
from skstretch.estimators.quality import (
    LEAST_UNITS,
    WORDS,
    chance_in_words,
    folds_in_words,
    held_out_losses,
    kind_of,
    left_out_means,
    measure_of,
    repetitions,
)
from skstretch.estimators.state import named_model, steps_in_words
from skstretch.estimators.summary import (
    Summary,
    mixture_members,
    target_names,
    trust,
    verdict_of,
)
from skstretch.exceptions import DataError
from skstretch.style import count

# tasks that a loss settles
SETTLED = {LossName.POISSON: TaskName.REGRESSION, LossName.LOG: TaskName.CLASSIFICATION}
# numbers below it have squares that float64 does not tell from zero
LEAST = 1e-150
# how errors are measured, and what knows nothing
SQUARED, BALANCED, PLAIN = "mean squared error", "balanced error rate", "error rate"
MEAN, LARGEST = "predicting the mean", "the largest class"
# the least groups of which some can be left out twice
LEAST_GROUPS = 3


def read_labels(values: Values, asked: TaskName, name: str) -> tuple[Any, TaskName, str]:
    """A target ready to be learned, its task, and why it is that.

    Text or exactly two different values are classes, else numbers. `values` has no missing ones.
    """
    different = len(set(values.words if values.numbers is None else values.numbers.tolist()))
    task, reason = asked, "as asked"
    if different == 1:
        raise DataError(
            f"the target {name!r} is {values.words[0]} in all {len(values.words):,} rows: there is "
            "nothing to predict."
        )
    if asked is TaskName.AUTO:
        task, reason = _rule(values, different)
    if task is TaskName.REGRESSION:
        if values.numbers is None:
            raise DataError(
                f"the target {name!r} holds text ({values.odd!r}), which regression cannot "
                "predict: use --task classification, or encode it as numbers."
            )
        return values.numbers, task, reason
    # most rows have a class of their own, which no other row has
    if 2 * sum(n == 1 for n in Counter(values.words).values()) > len(values.words):
        raise DataError(
            f"the target {name!r} has {different:,} different values in {len(values.words):,} "
            "rows, too many for classes"
            + (": use --task regression." if values.numbers is not None else ".")
        )
    return _classes(values), task, reason


def _rule(values: Values, different: int) -> tuple[TaskName, str]:
    if values.numbers is None:
        return TaskName.CLASSIFICATION, "the target holds text"
    if different == 2:
        return TaskName.CLASSIFICATION, "the target has two different values"
    reason = f"the target has {different:,} different numbers"
    if _may_be_codes(values.numbers):
        reason += "; if they are classes, pass --task classification"
    return TaskName.REGRESSION, reason


def _may_be_codes(numbers: Any) -> bool:
    """Whether whole numbers may stand for classes: each in as many rows as there are numbers, or
    without a gap and each in two rows."""
    different = np.unique(numbers)
    if (different != np.round(different)).any():
        return False
    rows = numbers.size / different.size
    return bool(different.size <= rows or (rows >= 2 and (np.diff(different) == 1).all()))


def _classes(values: Values) -> Any:
    """Whole numbers as such, anything else as written."""
    numbers = values.numbers
    if numbers is not None and (numbers == np.round(numbers)).all() and abs(numbers).max() < 2**53:
        return numbers.astype(np.int64)
    return np.array(values.words)


@dataclass(frozen=True)
class Request:
    """What a user asked of a data file."""

    data: str
    form: Form
    chosen: Chosen
    target: str | None
    task: TaskName
    weights: str | None = None
    recipe: Recipe | None = None  # None where the command has no steps before the model
    aim: Aim = field(default_factory=Aim)


@dataclass(frozen=True)
class Training:
    """Features and target, with no value missing but those that the recipe fills."""

    X: Any
    y: Any
    names: list[str] | None
    target: str
    task: TaskName
    reason: str
    weights: Any
    groups: Any
    seconds: float
    recipe: Recipe = field(default_factory=Recipe)
    filled: dict[str, int] = field(default_factory=dict)
    loss: str = "squared"

    @property
    def strata(self) -> Any:
        """What folds have alike: classes, or events; None for numbers."""
        if self.task is TaskName.SURVIVAL:
            return self.y["event"]
        return self.y if self.classifies else None

    @property
    def classifies(self) -> bool:
        return self.task is TaskName.CLASSIFICATION


def read_training(request: Request, talk: Talk) -> Training:
    """Read a file and check all that can be checked before a fit."""
    start = perf_counter()
    aim, recipe = request.aim, request.recipe or Recipe()
    table, named = _read_table(request, talk)
    name = named["target"]
    columns = {role: read_values(values) for role, values in table.aside.items()}
    check_features(table)
    keep = _known_rows(table, columns, named, request)
    table.X, columns = table.X[keep], {r: _taken(v, keep) for r, v in columns.items()}
    filled = _check_table(table, request, talk.note)
    target, groups, weights = columns["target"], columns.get("groups"), None
    _check_size(target, name)
    if given := columns.get("weights"):
        weights = given.numbers
        if weights is None:
            raise DataError(
                f"the weights {request.weights!r} hold text ({given.odd!r}): they must be numbers."
            )
    if aim.time is not None:
        y = survival(columns["event"], target, (str(aim.event), name))
        task, reason = TaskName.SURVIVAL, f"by {aim.event!r}"
    else:
        asked = SETTLED.get(aim.loss, request.task)
        y, task, reason = read_labels(target, asked, name)
        y, weights = exposed(y, columns.get("exposure"), weights, aim.exposure)
    return Training(
        table.X,
        y,
        table.names,
        name,
        task,
        reason,
        weights,
        None if groups is None else np.unique(groups.words, return_inverse=True)[1],
        perf_counter() - start,
        recipe,
        filled,
        "cox" if aim.time is not None else str(aim.loss),
    )


def _read_table(request: Request, talk: Talk) -> tuple[Table, dict[str, str]]:
    """The table of a file, and the names of the columns that are kept apart, by their roles."""
    aim, chosen = request.aim, request.chosen
    roles = {
        "target": aim.time or request.target,
        "weights": request.weights,
        "groups": chosen.groups,
        "event": aim.event,
        "exposure": aim.exposure,
    }
    choose = TrainingColumns(roles, chosen, talk.note, survival=aim.time is not None)
    table = read_table(request.data, request.form, choose, talk)
    if "target" not in choose.named:
        table.aside["target"] = read_vector(str(request.target), table.X.shape[0], request.form)
        choose.named["target"] = Path(str(request.target)).name
    return table, choose.named


def _check_table(table: Table, request: Request, note: Note) -> dict[str, int]:
    """Refuse features that cannot be fitted; what there is to fill, by column."""
    chosen, recipe = request.chosen, request.recipe
    if table.X.shape[0] < 2:
        raise DataError("there is one row to learn from: at least two are needed.")
    check_infinite(table)
    filled = missing_counts(table)[0] if _fills(request) else {}
    empty = next((name for name, n in filled.items() if n == table.X.shape[0]), None)
    if empty is not None:
        raise DataError(
            f"column {empty!r} has no value at all to fill it with: leave it out with "
            f"{dropping(empty)}."
        )
    if not (chosen.keep_index or chosen.features):
        leave_out_index(table, note)
    note_identifiers(table, note)
    if recipe is not None:
        recipe.check(table)
        if not recipe.filters and is_spectrum(table.names):
            note(
                "the names of the features are numbers in order, as of spectra: fit with --recipes "
                "to have scatter corrections and derivatives tried."
            )
    return filled


def _check_size(target: Values, name: str) -> None:
    """Refuse infinite numbers, and those whose squares are all zero to a computer."""
    largest = 0.0 if target.numbers is None else float(abs(target.numbers).max())
    if np.isinf(largest):
        raise DataError(f"the target {name!r} has infinite values: correct or delete those rows.")
    if 0.0 < largest < LEAST:
        raise DataError(
            f"the target {name!r} has no value beyond {largest:.1e}, too small to compute with: "
            "give it in another unit."
        )


def _fills(request: Request) -> bool:
    """Whether the recipe fills missing values of the features."""
    return request.recipe is not None and request.recipe.impute is not None


def _known_rows(
    table: Table, columns: dict[str, Values], named: dict[str, str], request: Request
) -> Any:
    """Rows to keep: all, or with --drop-missing those without a missing value.

    Gaps that the recipe fills are none.
    """
    counts, rows = missing_counts(table)
    if _fills(request):
        counts, rows = {}, np.zeros_like(rows)
    for role, values in columns.items():
        if values.missing.any():
            counts[named[role]] = int(values.missing.sum())
            rows |= values.missing
    if not counts:
        return slice(None)
    if request.chosen.drop_missing:
        if rows.all():
            raise DataError("every row has a missing value: --drop-missing leaves nothing.")
        return np.flatnonzero(~rows)
    can_fill = request.recipe is not None
    raise DataError(missing_message(counts, rows, named.values(), can_fill))


def _taken(values: Values, keep: Any) -> Values:
    if isinstance(keep, slice):
        return values
    numbers = None if values.numbers is None else values.numbers[keep]
    return replace(values, numbers=numbers, words=[values.words[row] for row in keep])


# The search.


def penalty_factors(named: Mapping[str, float], training: Training) -> Any:
    """One factor for every feature, None where none was named."""
    if not named:
        return None
    if training.recipe.filters:
        raise DataError(
            "--penalty-factor with --snv, --detrend, --derivative or --recipes: these take all "
            "columns for one spectrum, in which no column stands for itself."
        )
    n_features = training.X.shape[1]
    # columns without names go by their numbers from 1
    names = training.names or [str(number) for number in range(1, n_features + 1)]
    place = {name: column for column, name in enumerate(names)}
    factors = np.ones(n_features)
    for name, value in named.items():
        if name == training.target:
            raise DataError(f"--penalty-factor names the target {name!r}.")
        if name not in place:
            raise DataError(unknown("--penalty-factor", name, names))
        factors[place[name]] = value
    return factors


def splitter(search: Any, text: str | None, n_features: int, grouped: bool = False) -> Any:
    """The splitter that --cv asks for, or None for the default of a search.

    ``loo`` leaves one row out, or with groups one group; a number is that many folds, shuffled
    with a fixed seed, of whole groups where there are groups.
    """
    from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut

    number, asked = fold_number(text), search.n_features_to_select
    if number is not None:
        return shuffled(number, grouped, kind_of(search) in ("classes", "survival"))
    others = search._loss != "squared"
    if text is None and others:
        return None
    if grouped:
        return LeaveOneGroupOut()
    some = asked is not None and selects(asked if np.iterable(asked) else [asked], n_features)
    # of squared errors with all features it is the default
    return LeaveOneOut() if text is not None and (some or others) else None


def shuffled(number: int, groups: bool, classifies: bool, seed: int = 0) -> Any:
    """A splitter into folds: of shuffled rows, by class for classes, or of whole groups."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    if groups:
        return GroupKFold(number)
    kind = StratifiedKFold if classifies else KFold
    return kind(number, shuffle=True, random_state=seed)


def check_number(option: str, number: int, training: Training) -> None:
    """Refuse more folds than there are groups or rows."""
    groups = training.groups is not None
    units = len(np.unique(training.groups)) if groups else training.X.shape[0]
    if number > units:
        loo = ", or loo" if option == "--cv" else ""
        raise DataError(
            f"{option} {number}: there are only {units:,} {'groups' if groups else 'rows'}; use at "
            f"most {units:,}{loo}."
        )


def check_classes(option: str, number: int, training: Training, note: Note | None = None) -> None:
    """Refuse more folds than a class has rows; with `note`, only where all classes are so small."""
    if not training.classifies or training.groups is not None:
        return
    names, sizes = np.unique(training.y, return_counts=True)
    least = int(sizes.min())
    if number <= least:
        return
    smallest = str(names[sizes.argmin()])
    message = f"{option} {number}: the class {smallest!r} has {count(least, 'row')}"
    if note is None or number > sizes.max():
        raise DataError(f"{message}, fewer than there are folds.")
    note(f"{message}, so some folds have none of it.")


def check_plan(plan: Plan, training: Training, talk: Talk) -> None:
    """Refuse what does not go with the data."""
    n_features, number = training.X.shape[1], fold_number(plan.cv)
    for asked in plan.grid["n_features_to_select"] or ():
        if isinstance(asked, int) and asked > n_features:
            raise DataError(
                f"--select {asked}: the file has {count(n_features, 'feature')}; to keep all of "
                "them as one of the choices use --select 1.0."
            )
    if training.groups is not None and len(np.unique(training.groups)) < 2:
        raise DataError("--groups: all rows are of one group; at least two groups are needed.")
    if number is not None:
        check_number("--cv", number, training)
        check_classes("--cv", number, training, talk.note)


def search_of(training: Training, plan: Plan, talk: Talk) -> Any:
    """The search, or that of all recipes, not fitted yet."""
    from skstretch.estimators import (
        RecipeClassifierCV,
        RecipeRegressorCV,
        StretchyClassifierCV,
        StretchyRegressorCV,
        StretchySurvivalCV,
    )

    classes, several = training.classifies, training.recipe.recipes
    given = {
        **plan.grid,
        "penalty_factor": penalty_factors(named_factors(plan.penalty_factor), training),
        "combine": str(plan.combine),
        "verbose": int(talk.shows_progress),
    }
    if training.loss == "cox":
        if several:
            raise DataError("--recipes is not for survival: choose one, for example --snv.")
        if "a_grid" in given:
            raise DataError("--a is not for survival, whose models are linear: leave it out.")
        own = StretchySurvivalCV(**given)
    else:
        own = (StretchyClassifierCV if classes else StretchyRegressorCV)(
            loss=training.loss, **given
        )
    own.cv = splitter(own, plan.cv, training.X.shape[1], training.groups is not None)
    if not several:
        return own
    return (RecipeClassifierCV if classes else RecipeRegressorCV)(own)


def searched(training: Training, plan: Plan, talk: Talk) -> tuple[Any, float]:
    """The fitted estimator, and the seconds that it took."""
    from sklearn.pipeline import Pipeline, make_pipeline

    check_plan(plan, training, talk)
    own, steps = search_of(training, plan, talk), training.recipe.steps()
    model = make_pipeline(*steps, own) if steps else own
    given = {"sample_weight": training.weights, "groups": training.groups}
    given = {name: value for name, value in given.items() if value is not None}
    last = f"{type(own).__name__.lower()}__" if steps else ""
    start = perf_counter()
    with talk.translating(training.names):
        # the note of `check_plan` says it in other words
        warnings.filterwarnings("ignore", "The least populated class")
        model.fit(training.X, training.y, **{f"{last}{name}": each for name, each in given.items()})
    repeated = repeated_search(model, training, given, talk) if plan.nested else None
    if training.recipe.recipes:
        model = Pipeline([*(model.steps[:-1] if steps else []), *own.pipeline_.steps])
    found = model.steps[-1][1] if isinstance(model, Pipeline) else model
    found._target_names = [training.target]
    if repeated is not None:
        repeated.store(found)
    if training.names is not None:
        first = model.steps[0][1] if steps or training.recipe.recipes else model
        first.feature_names_in_ = np.array(training.names, dtype=object)
    return model, perf_counter() - start


def repeated_search(model: Any, training: Training, given: Mapping[str, Any], talk: Talk) -> Any:
    """The whole search repeated without each tenth of the rows; None where that cannot be."""
    from skstretch.estimators.nested import nested_score

    groups = training.groups is not None
    units = len(np.unique(training.groups)) if groups else training.X.shape[0]
    if units < (LEAST_GROUPS if groups else LEAST_UNITS):
        what = count(units, "group" if groups else "row")
        talk.note(f"{what}: too few to repeat the search without some of them.")
        return None
    number = min(N_FOLDS, units)
    if training.strata is not None and not groups:
        number = min(number, int(np.unique(training.strata, return_counts=True)[1].max()))
    try:
        return nested_score(model, training.X, training.y, max(2, number), **given)
    except ValueError as error:
        said = in_options(str(error).replace(", or nested_cv=None", ""), training.names)
        talk.note(f"the search could not be repeated for an error to trust: {said}")
        return None


Estimate = tuple[float, float]  # a mean and its standard error


def error_of(
    y: Any, predictions: Any, kind: str, weights: Any = None, groups: Any = None
) -> Estimate:
    """Mean loss of predictions of numbers or classes; all classes count alike."""
    weights = np.ones(len(y)) if weights is None else weights
    return paired_error(held_out_losses(y, predictions, weights, kind), weights, groups)


def cross_validated(model: Any, training: Training) -> list[dict[str, Any]]:
    """Errors of a fitted search, that of its score first, beside knowing nothing."""
    kind, measure = kind_of(model), measure_of(model)
    guess: Any
    y, groups = training.y, training.groups
    weights = np.ones(len(y)) if training.weights is None else training.weights
    weights = repetitions(kind, weights)
    if kind == "classes":
        y = np.searchsorted(model.classes_, y).clip(max=model.classes_.size - 1)
        guess = np.full(len(y), np.argmax(np.bincount(y, weights=weights)))
    elif kind == "survival":
        y, guess = signed_times(y["event"], y["time"]), np.zeros(len(y))
    else:
        guess = left_out_means(y, weights, groups)
    own = float(measure.of_scores(model.best_score_)), model.best_score_se_
    loss, spread = error_of(y, guess, kind, weights, groups)
    baseline = (1.0 - loss if kind == "survival" else loss), spread
    name = {"numbers": MEAN, "classes": LARGEST}.get(kind, WORDS[kind].nothing)
    found = [_judged(measure.name, own, baseline, name)]
    if kind == "classes":
        predicted = decided(np.asarray(model.cv_predictions_, dtype=float).reshape(len(y), -1))
        own, baseline = (paired_error(y != each, weights, groups) for each in (predicted, guess))
        found.append(_judged(PLAIN, own, baseline, LARGEST))
    return found


def _judged(measure: str, own: Estimate, baseline: Estimate, name: str) -> dict[str, Any]:
    return {
        "measure": measure,
        "error": own[0],
        "standard_error": own[1],
        "baseline": baseline[0],
        "baseline_standard_error": baseline[1],
        "baseline_name": name,
    }


# What was found, as facts for a page or JSON.


def facts(model: Any, training: Any, seconds: float) -> dict[str, Any]:
    """All that a fit has to say, what to trust first."""
    steps, own = steps_in_words(model), named_model(model)
    errors = cross_validated(own, training)
    usable = own.cv_results_["usable"]
    found = {
        **verdict_facts(own, own.summary().evidence),
        "task": str(training.task),
        "task_reason": training.reason,
        "target": training.target,
        "rows": training.X.shape[0],
        "features": training.X.shape[1],
        **facts_of_model(own),
        "candidates": len(usable),
        "candidates_unusable": int((~usable).sum()),
        "cv": folds_in_words(own),
        "errors": errors,
        "seconds_reading": training.seconds,
        "seconds_fitting": seconds,
    }
    if training.classifies:
        found["classes"] = own.classes_.tolist()
        found["class_sizes"] = [int((training.y == c).sum()) for c in own.classes_]
        found["cut"] = own.threshold_
    elif training.loss != "cox":  # of counts the share of the deviance, D²
        found["r2" if training.loss == "squared" else "d2"] = (
            1.0 - errors[0]["error"] / errors[0]["baseline"]
        )
    return found | ({"steps": steps, "filled": training.filled} if steps else {})


def verdict_facts(model: Any, evidence: Any) -> dict[str, Any]:
    """What was found and how far to trust it, and the figures of the search repeated."""
    words = {
        "verdict": "" if evidence is None else verdict_of(model, evidence, target_names(model)),
        "trust": trust(model, evidence).replace("Fit with nested_cv=10", "Leave out --no-nested"),
    }
    found: dict[str, Any] = {
        name: on_terminal(in_options(text)).replace("pass groups", "use --groups")
        for name, text in words.items()
    }
    if hasattr(model, "nested_score_"):
        measure = measure_of(model)
        found["nested"] = {
            "measure": measure.name,
            "error": float(measure.of_scores(model.nested_score_)),
            "standard_error": float(model.nested_score_se_),
            "targets": getattr(model, "nested_results_", []),
        }
    return found


def facts_of_model(model: Any) -> dict[str, Any]:
    """What holds for a fitted model, and for one from a file: its models, errors, numerics.

    a, k, c and density of an average are those of its heaviest model.
    """
    values = (
        model._leader
        if hasattr(model, "cv_results_")
        else {
            name: getattr(model, f"{name}_", getattr(model, name, None))
            for name in ("a", "k", "c", "density")
        }
    )
    found = {"features_used": int(np.atleast_2d(model.coef_).any(axis=0).sum()), **values}
    found["features_seen"] = int(model.n_features_in_)  # after the steps before the model
    found["choice"] = on_terminal(Summary(model).choice).replace("table below", "below")
    if members := mixture_members(model):
        table = model._members
        found["mixture"] = [
            {
                "name": on_terminal(member.name),
                "share": member.share,
                **{name: table[name][i] for name in values},
                "weight": np.asarray(table["weight"][i]).tolist(),
            }
            for i, member in enumerate(members)
        ]
    if chance := on_terminal(chance_in_words(model)):
        found["permutation"] = {"pvalue": float(model.permutation_.pvalue), "text": chance}
    return found | {
        "solver": str(np.ravel(model.solver_)[0]),
        "space": str(model._state.space),
        "rcond": float(np.min(model.rcond_)),
        "dof": float(np.mean(model.dof_)),
    }
