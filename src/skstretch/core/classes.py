"""Classification as regression on +-1."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from skstretch.core.types import Array, Index


def signed_targets(codes: Index, n_classes: int) -> Array:
    """+1 for a class and -1 for the rest: one column for two classes, else one per class."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def decided(outputs: Array) -> Index:
    """Class codes from outputs: positive or not for one column, else the largest."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.intp)
    return np.asarray(outputs.argmax(axis=1), dtype=np.intp)


def balanced_weights(codes: Index, n_classes: int, weights: Array) -> Array:
    """The weight of each class that gives all classes the same total weight."""
    totals = np.bincount(codes, weights=weights, minlength=n_classes)
    safe = np.where(totals > 0, totals, 1.0)
    return np.where(totals > 0, weights.sum() / (n_classes * safe), 0.0)


def class_weights(
    class_weight: str | Mapping[object, float] | None,
    classes: npt.NDArray[np.generic],
    codes: Index,
    weights: Array,
) -> Array:
    """Sample weights times the weights of their classes."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, Mapping):
        labels = classes.tolist()
        unknown = [label for label in class_weight if label not in labels]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is not a class of y; those are {labels}."
            )
        chosen: Array = np.array([float(class_weight.get(v, 1.0)) for v in labels])
        if not (np.isfinite(chosen) & (chosen >= 0)).all() or not chosen.any():
            raise ValueError(
                f"class_weight={class_weight!r} needs finite numbers that are not negative, and "
                "one at least that is not zero."
            )
        return weights * chosen[codes]
    if class_weight != "balanced":
        raise ValueError(
            f'class_weight={class_weight!r} is not known: use None, "balanced" or a dict from '
            "class to weight."
        )
    return weights * balanced_weights(codes, classes.size, weights)[codes]
