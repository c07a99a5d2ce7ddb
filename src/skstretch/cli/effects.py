"""The features that matter most to a model."""

from typing import Any

import numpy as np


def strongest(model: Any, count: int) -> list[dict[str, Any]]:
    """Features by the size of their effect: the slope times the standard deviation in training.

    `slope` is the change of the prediction (of the score, for classes) for one unit of the raw
    feature at its mean, `effect` that for one standard deviation; `of` is the class that a
    positive effect speaks for, or the number of the target where there are several.
    """
    slopes = np.atleast_2d(model.slope_)
    effects = slopes * model._quadrant.moments.scale
    size = np.abs(effects).max(axis=0)
    order = np.argsort(-size, kind="stable")[:count]
    names = getattr(model, "feature_names_in_", None)
    of = _outputs(model, len(slopes))
    found = []
    for column in order[size[order] > 0].tolist():
        target = int(np.abs(effects[:, column]).argmax())
        found.append(
            {
                "feature": str(column + 1) if names is None else str(names[column]),
                "of": of[target],
                "effect": float(effects[target, column]),
                "slope": float(slopes[target, column]),
            }
        )
    return found


def _outputs(model: Any, count: int) -> list[Any]:
    """What each output of a model stands for."""
    if hasattr(model, "classes_"):
        classes = model.classes_.tolist()
        return classes[1:] if count == 1 else classes
    return [None] if count == 1 else list(range(1, count + 1))
