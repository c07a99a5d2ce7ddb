"""The competitors, each a function (X_train, y_train) -> fitted object with ``predict``.

Most are those of ``skstretch compare``. Every method standardises the features (trees need not) and
chooses its own strength inside the training fold. The competitors weight the classes equally,
because the error for classes is the balanced error rate. glmnet takes the penalty with the smallest
cross-validated error (``lambda.min`` in R, ``lambda_max_`` in python-glmnet, reached by
``cut_point=0``), not the one-standard-error penalty that its ``predict`` uses by default. The path
of ``lasso`` and ``enet`` is its own: 100 penalties, ended early where the deviance hardly changes
from one to the next. On smooth spectra that can be before the best penalty; ``enet-full`` is the
same with all 100.

The peers are methods of our own sort, linear in the features: ranks and the best peer of a set are
theirs. ``enet-full`` is a second form of a peer, and the forest an outsider: they stand in the
tables, and in the figures that are said to be over all methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor

from skstretch.cli import methods as rivals

from . import outsiders


@dataclass(frozen=True)
class Method:
    """A competitor.

    Attributes
    ----------
    fit : callable
        ``fit(X_train, y_train)`` returns an object with ``predict``.
    takes_sparse : bool
        Whether it takes CSR; otherwise it gets the dense form where that fits.
    """

    fit: Callable[[Any, NDArray], Any]
    takes_sparse: bool = False


def mean(X: Any, y: NDArray) -> Any:
    """The mean of the training targets."""
    return DummyRegressor().fit(X, y)


def majority(X: Any, y: NDArray) -> Any:
    """The largest class: its balanced error rate is that of a fair coin (die)."""
    return DummyClassifier(strategy="most_frequent").fit(X, y)


OURS = "skstretch"
RIDGE = "ridge"
BASELINES = ("mean", "majority")
PEERS = {
    "regression": ("ridge", "pls", "lasso", "enet"),
    "classification": ("ridge", "svm", "lasso", "enet", "plsda"),
}
LINEAR, LOGISTIC = rivals.glmnet_regression, rivals.glmnet_classification
METHODS: dict[str, dict[str, Method]] = {
    "regression": {
        "mean": Method(mean, takes_sparse=True),
        "ridge": Method(rivals.ridge, takes_sparse=True),
        "pls": Method(rivals.partial_least_squares),
        "lasso": Method(partial(LINEAR, alpha=1.0), takes_sparse=True),
        "enet": Method(partial(LINEAR, alpha=0.5), takes_sparse=True),
        "enet-full": Method(partial(outsiders.whole_path, LINEAR, alpha=0.5), takes_sparse=True),
        "forest": Method(outsiders.forest_regressor, takes_sparse=True),
        OURS: Method(rivals.stretchy_regressor, takes_sparse=True),
    },
    "classification": {
        "majority": Method(majority, takes_sparse=True),
        "ridge": Method(rivals.ridge_classifier, takes_sparse=True),
        "svm": Method(rivals.support_vectors, takes_sparse=True),
        "lasso": Method(partial(LOGISTIC, alpha=1.0), takes_sparse=True),
        "enet": Method(partial(LOGISTIC, alpha=0.5), takes_sparse=True),
        "plsda": Method(outsiders.discriminant),
        "enet-full": Method(partial(outsiders.whole_path, LOGISTIC, alpha=0.5), takes_sparse=True),
        "forest": Method(outsiders.forest_classifier, takes_sparse=True),
        OURS: Method(rivals.stretchy_classifier, takes_sparse=True),
    },
}


def method_names() -> list[str]:
    """Names of all methods of both kinds."""
    return list(dict.fromkeys(name for methods in METHODS.values() for name in methods))


def choose_methods(names: list[str] | None) -> list[str]:
    """Check the names and spell out ``competitors`` (all but ours); None is all."""
    known = method_names()
    chosen: list[str] = []
    for name in names or known:
        if name not in (*known, "competitors"):
            raise ValueError(f"unknown method {name!r}; choose from {', '.join(known)}.")
        chosen += [n for n in known if n != OURS] if name == "competitors" else [name]
    return list(dict.fromkeys(chosen))
