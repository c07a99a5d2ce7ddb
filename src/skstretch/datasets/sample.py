"""What a reader returns: one data set in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sample:
    """Features, target and whatever else a file says about them.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    extras : dict
        Further entries of the `Bunch`: `feature_names`, `split`, ...
    """

    X: Any
    y: NDArray[Any]
    extras: dict[str, Any] = field(default_factory=dict)


def as_labels(y: Any) -> NDArray[np.int64]:
    """Labels as integers −1 and +1, the lesser of two values first."""
    values, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(values) != 2:
        shown = ", ".join(map(str, values[:5]))
        raise ValueError(f"the target has {len(values)} different values ({shown}); two expected.")
    return 2 * codes.reshape(-1).astype(np.int64) - 1
