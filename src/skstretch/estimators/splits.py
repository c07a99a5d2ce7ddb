"""From ``cv`` to folds."""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from skstretch.core.types import Index
from skstretch.search import Folds, folds_from_splits, leave_one_out

# leave one out with a second pass would cost one second pass per sample
N_FOLDS = 10


def make_folds(
    cv: Any, X: Any, y: Any, rows: Index, *, classifier: bool, compressed: bool, **groups: Any
) -> Folds:
    """Folds over the samples of positive weight.

    ``cv=None`` is leave one out, or ten folds where features are selected in every fold.
    """
    if cv is None and not compressed:
        if rows.size < 2:
            raise ValueError(
                f"n_samples={rows.size} of positive weight: leave one out needs at least two."
            )
        return leave_one_out(rows.size)
    splitter = (
        _default(y[rows], classifier) if cv is None else check_cv(cv, y, classifier=classifier)
    )
    if cv is None:
        splits = [(rows[train], rows[test]) for train, test in splitter.split(y[rows], y[rows])]
    else:
        splits = splitter.split(X, y, **groups)
    return folds_from_splits(splits, rows, X.shape[0])


def _default(y: Any, classifier: bool) -> Any:
    if y.shape[0] < 2:
        raise ValueError(f"n_samples={y.shape[0]} of positive weight: folds need at least two.")
    if classifier:
        smallest = int(np.unique(y, return_counts=True)[1].min())
        if smallest >= 2:
            return StratifiedKFold(min(N_FOLDS, smallest), shuffle=True, random_state=0)
    return KFold(min(N_FOLDS, y.shape[0]), shuffle=True, random_state=0)
