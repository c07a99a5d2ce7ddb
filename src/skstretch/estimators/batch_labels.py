"""Labels of a batch of rows, which need not show every class."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from skstretch.core.classes import class_weights, signed_targets
from skstretch.core.types import Array
from skstretch.estimators.classification import Labels


def check_streamable(threshold: Any, class_weight: Any) -> None:
    """Refuse what can only be learned from all rows at once."""
    if threshold == "balanced":
        raise ValueError(
            'threshold="balanced" needs out-of-fold scores, and partial_fit keeps no rows: use '
            '"zero" or "auto", or fit.'
        )
    if isinstance(class_weight, str):
        raise ValueError(
            f"class_weight={class_weight!r} needs the labels of all rows, and partial_fit sees a "
            "batch at a time: pass a dict, for instance from "
            "sklearn.utils.class_weight.compute_class_weight, or use fit."
        )


def known_classes(estimator: Any, classes: Any) -> Any:
    """The classes of the first call; later ones may repeat them."""
    earlier = getattr(estimator, "classes_", None)
    if classes is None:
        if earlier is None:
            raise ValueError(
                "classes is missing: the first call of partial_fit needs all classes, since a "
                "batch may not show every one, for instance classes=np.unique(y_of_all_rows)."
            )
        return earlier
    given = np.unique(np.asarray(classes))
    if earlier is not None and not np.array_equal(given, earlier):
        raise ValueError(
            f"classes={given.tolist()} are not those of the first call, {earlier.tolist()}: leave "
            "classes out, or begin anew with sklearn.base.clone(model)."
        )
    if given.size < 2:
        raise ValueError(f"classes={given.tolist()}: a classifier needs at least two.")
    return given


def batch_labels(y: Any, weights: Array, classes: Any, class_weight: Any) -> Labels:
    """Labels of a batch as regression targets; those of weight zero may be of any class."""
    check_classification_targets(y)
    unknown = np.setdiff1d(y[weights > 0], classes)
    if unknown.size:
        raise ValueError(
            f"y has the label {unknown[0].item()!r}, which is not among the classes "
            f"{classes.tolist()} of the first call."
        )
    codes = np.searchsorted(classes, y).clip(max=classes.size - 1)
    combined = class_weights(class_weight, classes, codes, weights)
    return Labels(classes, codes, signed_targets(codes, classes.size), weights, combined)
