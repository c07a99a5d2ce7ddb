"""What a report is about: a fitted model, and its training data where at hand."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from skstretch.core.classes import signed_targets
from skstretch.core.stretch import checked_number
from skstretch.core.survival import signed_times
from skstretch.core.types import Array, Index
from skstretch.estimators.losses import checked_survival
from skstretch.estimators.quality import Measure, kind_of, measure_of, score_in_words
from skstretch.estimators.state import (
    State,
    as_model,
    last_step,
    named_model,
    steps_in_words,
    transformed,
)
from skstretch.estimators.summary import Member, feature_names, mixture_members, target_names
from skstretch.io.archive import add_numbers, data_digest
from skstretch.io.model import CLASSES
from skstretch.io.outcomes import reunited

# what a name may take of a page
LONGEST = 60


def short(name: Any, length: int = LONGEST) -> str:
    """A user's string, on one line and of bounded length."""
    text = " ".join(str(name).split())
    text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= length else text[: length - 1] + "…"


def distinct(names: list[str]) -> list[str]:
    """Names made different from each other by their place where they are not."""
    times = Counter(names)
    return [f"{name} ({i + 1})" if times[name] > 1 else name for i, name in enumerate(names)]


@dataclass(frozen=True)
class Subject:
    """A fitted model with n samples, D features and t outputs.

    Outputs are the targets of a regressor, the second class of two, or each of more classes
    against the rest.
    """

    model: Any
    X: Any = None
    y: Any = None
    source: str | None = None
    seconds: float | None = None
    given_target: str | None = None
    steps: str = ""
    from_file: bool = False  # outcomes of the search and data of the fit were brought together
    samples: list[str] | None = None  # names of the samples, where they have some
    at: float | None = None  # the time at which survival is judged
    given_weights: Array | None = None  # of all samples that were passed, (n,)

    @property
    def state(self) -> State:
        """What the fit has learned."""
        found: State = self.model._state
        return found

    @property
    def classifies(self) -> bool:
        return bool(is_classifier(self.model))

    @cached_property
    def kind(self) -> str:
        """What is predicted: numbers, classes, counts or survival."""
        return kind_of(self.model)

    @property
    def searched(self) -> bool:
        return hasattr(self.model, "cv_results_")

    @cached_property
    def mixture(self) -> list[Member]:
        """The candidates of a mixture, heaviest first; none where one candidate is the model."""
        return mixture_members(self.model)

    @property
    def members(self) -> list[int]:
        """The rows of ``cv_results_`` that the model is made of."""
        if not self.mixture:
            return [int(self.model.best_index_)]
        return [member.row for member in self.mixture]

    @property
    def nested(self) -> bool:
        """Whether the whole search was repeated on other samples."""
        return hasattr(self.model, "nested_results_")

    @property
    def weights(self) -> Array:
        """Weights of the samples (n,), zero of those that were not used."""
        found, used = np.zeros(self.shape[0]), self.state.used
        given = self.given_weights
        known = self.state.model.weights if given is None else given[used]
        found[used] = known if self.weighted else 1.0
        return found

    @property
    def weighted(self) -> bool:
        """Whether the weights of the fit are known: those of a model file are where given."""
        given = self.given_weights is not None
        return given or bool(np.isfinite(self.state.model.weights).all())

    @cached_property
    def measure(self) -> Measure:
        """How errors of the search are named and written."""
        return measure_of(self.model, root=True)

    def error(self, name: str) -> str:
        """``best_score_`` or ``nested_score_`` as an error with its standard error, where known."""
        return score_in_words(self.model, name, self.measure, ", standard error ")

    @property
    def shape(self) -> tuple[int, int]:
        """n, D."""
        return self.state.used.size, int(self.model.n_features_in_)

    @property
    def few(self) -> bool:
        """Whether less than half of the features are in use."""
        return bool(self.state.support.any(axis=0).mean() < 0.5)

    @property
    def slope(self) -> Array:
        """``coef_`` of shape (t, D)."""
        return np.atleast_2d(self.model.coef_)

    @property
    def scale(self) -> Array:
        """Standard deviations of the features, (D,)."""
        return self.state.quadrant.moments.scale

    @property
    def candidate(self) -> dict[str, Any]:
        """a, k, c and density in use."""
        if self.searched:
            return dict(self.model._leader)
        given = {name: getattr(self.model, name) for name in ("a", "k", "c", "density")}
        return {**given, "c": self.model.c_}  # c="auto" stands for a number

    @cached_property
    def names(self) -> list[str]:
        """Names of the features, bounded in length."""
        return [short(name) for name in feature_names(self.model)]

    def sample_name(self, place: Any) -> str:
        """The name of a sample, or its number from 0."""
        return str(place) if self.samples is None else short(self.samples[int(place)])

    @cached_property
    def positions(self) -> Array | None:
        """Feature names as numbers, where all are and rise or fall."""
        if getattr(self.model, "feature_names_in_", None) is None or self.shape[1] < 3:
            return None
        try:
            values = np.array([float(name) for name in self.model.feature_names_in_])
        except ValueError:
            return None
        steps = np.diff(values)
        ordered = (steps > 0).all() or (steps < 0).all()
        return values if ordered and np.isfinite(values).all() else None

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return distinct([short(c) for c in self.model.classes_])

    @cached_property
    def target(self) -> str:
        """What is predicted."""
        name = self.given_target or getattr(self.y, "name", None)
        if self.kind != "survival" and isinstance(name, str) and name.strip():
            return short(name)
        return short(target_names(self.model)[0])

    @cached_property
    def outputs(self) -> list[str]:
        """A name for each column of outputs."""
        t = self.slope.shape[0]
        if self.classifies:
            return self.classes if t > 1 else self.classes[1:]
        columns = getattr(self.y, "columns", None)
        if columns is not None and len(columns) == t:
            return distinct([short(name) for name in columns])
        return [self.target] if t == 1 else distinct([short(n) for n in target_names(self.model)])

    @cached_property
    def codes(self) -> Index:
        """Places of the labels y among the classes."""
        labels, classes = np.asarray(self.y), self.model.classes_
        place = {label: i for i, label in enumerate(classes.tolist())}
        try:
            return np.array([place[label] for label in labels.tolist()], dtype=np.intp)
        except (KeyError, TypeError):
            odd = [v for v in labels.ravel().tolist() if v not in place][:1]
            raise ValueError(
                f"y has the label {odd[0] if odd else labels!r}, and the model knows the classes "
                f"{list(place)[:10]}: pass the labels that it was fitted on."
            ) from None

    @cached_property
    def Y(self) -> Array:
        """Float targets of shape (n, t): y, +-1 for classes, or signed times."""
        if self.kind == "survival":
            return signed_times(self.y["event"], self.y["time"])[:, None]
        if self.classifies:
            return signed_targets(self.codes, self.model.classes_.size)
        return np.asarray(self.y, dtype=np.float64).reshape(self.shape[0], -1)

    @property
    def in_blocks(self) -> bool:
        """Whether X is not in memory, so that it is not passed over for a name."""
        return hasattr(self.X, "dask")

    @cached_property
    def data_digest(self) -> Any:
        """The SHA-256 of X."""
        return data_digest(self.X)

    @property
    def fingerprint(self) -> str:
        """A short name of X and y, or why there is none."""
        if self.X is None:
            return "not taken: the data were not at hand"
        if self.in_blocks:
            return "not taken: the data are not in memory"
        return fingerprint(self.data_digest, self.y)


def checked_subject(
    model: Any,
    X: Any,
    y: Any,
    source: Any = None,
    seconds: Any = None,
    target: Any = None,
    samples: Any = None,
    at: Any = None,
    weights: Any = None,
) -> Subject:
    """A subject whose parts fit together, or an error that says which do not."""
    model = _reported(model)
    own = last_step(model)
    if X is not None and y is None:
        raise ValueError("X was passed without y: pass the training data as X=X, y=y.")
    samples = _sample_names(X, y) if samples is None else [str(name) for name in samples]
    X = None if X is None else transformed(model, X)
    steps, model = steps_in_words(model), named_model(model)
    if hasattr(X, "columns"):
        _check_columns(list(X.columns), getattr(model, "feature_names_in_", None))
    X = None if X is None else _unframed(X)
    if y is not None and kind_of(model) == "survival":
        y = checked_survival(y)
    y = y if y is None or hasattr(y, "shape") else np.asarray(y)
    at = None if at is None else _checked_time(at, own._state.baseline)
    weights = None if weights is None else np.asarray(weights, dtype=float)
    facts: Any = {"samples": samples, "at": at, "given_weights": weights}
    subject = Subject(model, X, y, source, seconds, target, steps, **facts)
    n, D = subject.shape
    if weights is not None and weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, and there are {n:,} samples.")
    if X is not None and tuple(X.shape) != (n, D):
        raise ValueError(
            f"X has shape {tuple(X.shape)}, and the model was fitted on {(n, D)}: pass the data "
            "that it was fitted on, or neither X nor y."
        )
    if samples is not None and len(samples) != n:
        raise ValueError(f"samples has {len(samples):,} names for {n:,} rows.")
    if y is not None:
        _check_targets(subject)
    return _reunited(subject)


def _reported(model: Any) -> Any:
    """A fitted model that has a page."""
    model = as_model(model)
    own = last_step(model)
    if not any(isinstance(own, cls) for cls in CLASSES.values()):
        raise TypeError(
            f"a {type(own).__name__} has no report: pass a fitted {', '.join(CLASSES)}, or a "
            "Pipeline that ends in one."
        )
    check_is_fitted(own)
    if own._state.loss == "cox" and own._state.baseline is None:
        raise ValueError(
            "a model with strata has no curves to report: fit without the column stratum."
        )
    return model


def _checked_time(at: Any, baseline: Any) -> float:
    at = checked_number("at", at, "pass a time.")
    if baseline is not None and not 0.0 < at <= baseline.last:
        raise ValueError(
            f"at={at:g} must be above 0 and at most {baseline.last:g}, the last time of the "
            "training data: nothing is known beyond."
        )
    return at


def _sample_names(X: Any, y: Any) -> list[str] | None:
    """The index of a frame or a series, unless it only counts."""
    index = getattr(X, "index", None)
    index = getattr(y, "index", None) if index is None else index
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]


def _reunited(subject: Subject) -> Subject:
    """The subject as it was when it was fitted, where a file has all of it but the data."""
    if subject.X is None or not hasattr(subject.model, "_kept") or subject.in_blocks:
        return subject
    found = reunited(subject.model, subject.X, subject.Y, subject.data_digest.hexdigest())
    if found is None:
        return subject
    whole = replace(subject, model=found, from_file=True)
    vars(whole)["data_digest"] = subject.data_digest  # where the cached property would put it
    return whole


def _check_columns(columns: list[Any], names: Any) -> None:
    if names is None or list(names) == columns:
        return
    odd = [c for c in columns if c not in set(names)] or [n for n in names if n not in set(columns)]
    what = f"{short(odd[0])!r} is only in one of them" if odd else "their order differs"
    raise ValueError(
        f"the columns of X are not those that the model was fitted on: {what}. Pass the data of "
        "the fit, with the same columns in the same order."
    )


def _unframed(X: Any) -> Any:
    """X as an array or a sparse matrix: checks of wide frames would take longer than the fits."""
    if hasattr(X, "sparse"):
        return X.sparse.to_coo().tocsr()
    if hasattr(X, "to_numpy"):
        values = X.to_numpy()
        return values.astype(float) if values.dtype == object else values
    return X if hasattr(X, "shape") else np.asarray(X)


def _check_targets(subject: Subject) -> None:
    n, t = subject.shape[0], subject.slope.shape[0]
    shape = tuple(subject.y.shape)
    several = t > 1 and not subject.classifies
    expected = [(n, t)] if several else [(n,)] if subject.classifies else [(n,), (n, 1)]
    if shape not in expected:
        raise ValueError(
            f"y has shape {shape}, and the model was fitted on {expected[0]}: pass the targets "
            "that it was fitted on."
        )
    if not np.isfinite(subject.Y).all():
        raise ValueError("y has values that are not finite: pass the targets of the fit.")


# A short name for data: equal data have equal fingerprints, whatever container they came in.


def fingerprint(digest: Any, y: Any) -> str:
    """The first 16 hex digits of a SHA-256 of X, as `data_digest` makes it, and y.

    Sparse matrices are hashed by their entries that are not zero, and so have another fingerprint
    than the same data stored dense.
    """
    digest = digest.copy()
    labels = np.asarray(y)
    if labels.dtype.kind in "biuf":
        add_numbers(digest, labels)
    else:
        digest.update("\x00".join(map(str, labels.tolist())).encode("utf-8", "surrogatepass"))
    return str(digest.hexdigest()[:16])
