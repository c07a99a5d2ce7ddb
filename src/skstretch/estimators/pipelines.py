"""A pipeline that ends in one of our estimators, seen as steps and a model."""

import warnings
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

# the words of a step beyond which its parts are named alone
LONGEST = 200


def is_pipeline(model: Any) -> bool:
    """Whether a model is scikit-learn's own Pipeline, and has steps."""
    return type(model) is Pipeline and bool(model.steps)


def as_model(model: Any) -> Any:
    """The pipeline that a model of several recipes is; others as they are."""
    found = getattr(model, "pipeline_", None)
    return found if is_pipeline(found) else model


def last_step(model: Any) -> Any:
    """The model at the end of a pipeline; others as they are."""
    return model.steps[-1][1] if is_pipeline(model) else model


def steps_before(model: Any) -> list[Any]:
    """The steps before the model that do something."""
    steps = model.steps[:-1] if is_pipeline(model) else []
    return [step for _, step in steps if step is not None and not isinstance(step, str)]


def first_step(model: Any) -> Any:
    """The step that the data meet first, which knows their columns."""
    return next(iter(steps_before(model)), last_step(model))


def transformed(model: Any, X: Any) -> Any:
    """X as the last step sees it."""
    if not steps_before(model):
        return X
    with warnings.catch_warnings():
        # arrays have no names; their columns are taken as they come
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return model[:-1].transform(X)


def named_model(model: Any) -> Any:
    """The last step with the names of the columns that it is given, where they are known."""
    own = last_step(model)
    if not steps_before(model) or hasattr(own, "feature_names_in_"):
        return own
    if not hasattr(first_step(model), "feature_names_in_"):
        return own
    own = twin(own)
    own.feature_names_in_ = model[:-1].get_feature_names_out()
    return own


def twin(model: Any) -> Any:
    """A shallow copy with all that a pickle, and so `copy.copy`, would leave behind."""
    other = object.__new__(type(model))
    vars(other).update(vars(model))
    return other


def steps_in_words(model: Any) -> str:
    """The steps as one line: classes with what differs from their defaults."""
    return ", ".join(_in_words(step) for step in steps_before(model))


def _in_words(step: Any) -> str:
    words = " ".join(repr(step).split())
    if isinstance(step, ColumnTransformer) and len(words) > LONGEST:
        return f"ColumnTransformer ({'; '.join(str(name) for name, *_ in step.transformers)})"
    return words
