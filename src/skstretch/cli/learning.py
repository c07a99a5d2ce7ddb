"""From a plan and data to a fitted search: its folds, its errors, what there is to say of it."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from skstretch.cli.columns import Note, unknown
from skstretch.cli.console import Talk, counted, in_options, on_terminal
from skstretch.cli.options import Plan, fold_number
from skstretch.cli.training import Training
from skstretch.core.classes import balanced_weights, decided
from skstretch.core.crossfit import paired_error
from skstretch.core.stretch import selects
from skstretch.estimators.inputs import N_FOLDS
from skstretch.exceptions import DataError

# how errors are measured, and what knows nothing
SQUARED, BALANCED, PLAIN = "mean squared error", "balanced error rate", "error rate"
MEAN, LARGEST = "predicting the mean", "the largest class"
# the least groups of which some can be left out twice
LEAST_GROUPS = 3


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


def asked_to_select(asked: Any, n_features: int) -> bool:
    """Whether ``n_features_to_select`` asks for some of the features."""
    return asked is not None and selects(asked if np.iterable(asked) else [asked], n_features)


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
    message = f"{option} {number}: the class {smallest!r} has {counted(least, 'row')}"
    if note is None or number > sizes.max():
        raise DataError(f"{message}, fewer than there are folds.")
    note(f"{message}, so some folds have none of it.")


def check_plan(plan: Plan, training: Training, talk: Talk) -> None:
    """Refuse what does not go with the data."""
    n_features, number = training.X.shape[1], plan.n_folds
    for count in plan.grid["n_features_to_select"] or ():
        if isinstance(count, int) and count > n_features:
            raise DataError(
                f"--select {count}: the file has {counted(n_features, 'feature')}; to keep all of "
                "them as one of the choices use --select 1.0."
            )
    if training.groups is not None and len(np.unique(training.groups)) < 2:
        raise DataError("--groups: all rows are of one group; at least two groups are needed.")
    if number is not None:
        check_number("--cv", number, training)
        check_classes("--cv", number, training, talk.note)


def search_of(training: Training, plan: Plan, talk: Talk) -> Any:
    """The search, or that of all recipes, not fitted yet."""
    from skstretch import (
        RecipeClassifierCV,
        RecipeRegressorCV,
        StretchyClassifierCV,
        StretchyRegressorCV,
        StretchySurvivalCV,
    )

    classes, several = training.classifies, training.recipe.recipes
    given = {
        **plan.grid,
        "penalty_factor": penalty_factors(plan.factors, training),
        "cv": folds_of(plan, training),
        "combine": plan.combine,
        "verbose": int(talk.shows_progress),
    }
    if training.loss == "cox":
        return StretchySurvivalCV(**_of_survival(given, several))
    own = (StretchyClassifierCV if classes else StretchyRegressorCV)(loss=training.loss, **given)
    if not several:
        return own
    return (RecipeClassifierCV if classes else RecipeRegressorCV)(own)


def folds_of(plan: Plan, training: Training) -> Any:
    """What --cv asks for; other losses than squared error have ten folds by default."""
    compressed = asked_to_select(plan.grid["n_features_to_select"], training.X.shape[1])
    if training.loss != "squared":
        if plan.cv is None:
            return None
        compressed = True  # so that loo is asked for
    grouped, strata = training.groups is not None, training.strata is not None
    return splitter(plan.cv, grouped, strata, compressed)


def _of_survival(given: dict[str, Any], several: bool) -> dict[str, Any]:
    """Parameters of a search for survival, which has fewer."""
    if several:
        raise DataError("--recipes is not for survival: choose one, for example --snv.")
    if given.pop("a_grid", None) is not None:
        raise DataError("--a is not for survival, whose models are linear: leave it out.")
    return given


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
    try:
        with talk.warnings(training.names):
            # the note of `check_plan` says it in other words
            warnings.filterwarnings("ignore", "The least populated class")
            model.fit(
                training.X, training.y, **{f"{last}{name}": each for name, each in given.items()}
            )
    except ValueError as error:
        raise DataError(in_options(str(error), training.names)) from error
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
    from skstretch.estimators.quality import LEAST_UNITS

    groups = training.groups is not None
    units = len(np.unique(training.groups)) if groups else training.X.shape[0]
    if units < (LEAST_GROUPS if groups else LEAST_UNITS):
        what = counted(units, "group" if groups else "row")
        talk.note(f"{what}: too few to repeat the search without some of them.")
        return None
    number = min(N_FOLDS, units)
    if training.strata is not None and not groups:
        number = min(number, int(np.unique(training.strata, return_counts=True)[1].max()))
    try:
        folds = shuffled(max(2, number), groups, training.strata is not None)
        return nested_score(model, training.X, training.y, folds, **given)
    except ValueError as error:
        said = in_options(str(error).replace(", or nested_cv=None", ""), training.names)
        talk.note(f"the search could not be repeated for an error to trust: {said}")
        return None


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
    weights = np.ones(len(losses)) if weights is None else weights
    return Estimate(*paired_error(losses, weights, groups))


def squared_error(y: Any, predictions: Any, weights: Any = None, groups: Any = None) -> Judged:
    """Mean squared error beside that of predicting the mean of the other rows."""
    from skstretch.estimators.quality import left_out_means

    means = left_out_means(y, weights, groups)
    losses = (np.square(y - guess) for guess in (predictions, means))
    model, baseline = (estimate(each, weights, groups) for each in losses)
    return Judged(SQUARED, model, baseline, MEAN)


def error_rates(
    codes: Any, predicted: Any, n_classes: int, weights: Any = None, groups: Any = None
) -> list[Judged]:
    """Balanced error rate (the mean over classes) and error rate, beside the largest class."""
    own = np.ones(len(codes)) if weights is None else weights
    largest = np.argmax(np.bincount(codes, weights=own, minlength=n_classes))
    balance = balanced_weights(codes, n_classes, own)[codes]
    found = []
    for measure, factor in ((BALANCED, balance), (PLAIN, 1.0)):
        losses = ((codes != guess) * factor for guess in (predicted, largest))
        model, baseline = (estimate(each, weights, groups) for each in losses)
        found.append(Judged(measure, model, baseline, LARGEST))
    return found


def cross_validated(model: Any, training: Training) -> list[Judged]:
    """Errors of a fitted search, that of its score first, beside knowing nothing."""
    from skstretch.estimators.quality import measure_of

    scores, units = model.cv_predictions_, (training.weights, training.groups)
    if training.loss in ("cox", "poisson"):
        return [_judged_by_loss(model)]
    if training.classifies:
        codes = np.searchsorted(model.classes_, training.y).clip(max=model.classes_.size - 1)
        predicted = decided(scores.reshape(len(scores), -1))
        judged = error_rates(codes, predicted, model.classes_.size, *units)
    else:
        judged = [squared_error(training.y, scores, *units)]
    own = Estimate(float(measure_of(model).of_scores(model.best_score_)), model.best_score_se_)
    return [replace(judged[0], model=own), *judged[1:]]


def _judged_by_loss(model: Any) -> Judged:
    """The score of a search for counts or survival, beside knowing nothing."""
    from skstretch.estimators.quality import measure_of
    from skstretch.estimators.summary import plain_evidence

    measure, fitted = measure_of(model), model._state.model
    own = Estimate(float(measure.of_scores(model.best_score_)), model.best_score_se_)
    outputs = np.asarray(model.cv_predictions_, dtype=float)[model._state.used, None]
    [found] = plain_evidence(model, outputs, fitted.Y, fitted.weights)
    baseline = Estimate(found.figure(found.mean.loss), 0.0)
    return Judged(measure.name, own, baseline, found.words.nothing)


# What was found, as facts for a page or JSON.


def facts(model: Any, training: Any, seconds: float) -> dict[str, Any]:
    """All that a fit has to say, what to trust first."""
    from skstretch.estimators.quality import folds_in_words
    from skstretch.estimators.state import named_model, steps_in_words

    steps, own = steps_in_words(model), named_model(model)
    judged = cross_validated(own, training)
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
        "errors": [
            {
                "measure": one.measure,
                "error": one.model.mean,
                "standard_error": one.model.error,
                "baseline": one.baseline.mean,
                "baseline_standard_error": one.baseline.error,
                "baseline_name": one.baseline_name,
            }
            for one in judged
        ],
        "seconds_reading": training.seconds,
        "seconds_fitting": seconds,
    }
    if training.classifies:
        found["classes"] = own.classes_.tolist()
        found["class_sizes"] = [int((training.y == c).sum()) for c in own.classes_]
        found["cut"] = own.threshold_
    elif training.loss != "cox":  # of counts the share of the deviance, D²
        found["r2" if training.loss == "squared" else "d2"] = (
            1.0 - judged[0].model.mean / judged[0].baseline.mean
        )
    return found | ({"steps": steps, "filled": training.filled} if steps else {})


def verdict_facts(model: Any, evidence: Any) -> dict[str, Any]:
    """What was found and how far to trust it, and the figures of the search repeated."""
    from skstretch.estimators.quality import measure_of
    from skstretch.estimators.summary import target_names, trust, verdict_of

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
    from skstretch.estimators.quality import chance_in_words
    from skstretch.estimators.summary import Summary, mixture_members

    values = (
        model._leader
        if hasattr(model, "cv_results_")
        else {
            name: getattr(model, f"{name}_", getattr(model, name, None))
            for name in ("a", "k", "c", "density")
        }
    )
    found = {"features_used": int(np.atleast_2d(model.coef_).any(axis=0).sum()), **values}
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
