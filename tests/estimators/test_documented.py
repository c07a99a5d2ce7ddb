"""Every parameter of the public estimators is described where a user looks for it."""

import inspect
import re

import pytest

from skstretch import (
    StretchyClassifier,
    StretchyClassifierCV,
    StretchyRegressor,
    StretchyRegressorCV,
)

ESTIMATORS = [StretchyRegressor, StretchyClassifier, StretchyRegressorCV, StretchyClassifierCV]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_every_parameter_is_described_with_its_default(estimator):
    text = inspect.getdoc(estimator)
    section = re.search(r"Parameters\n-+\n(.*?)\n\nAttributes\n", text, re.DOTALL)[1]
    found = re.findall(r"^(\w[\w, ]*) : (.*)\n    \S", section, re.MULTILINE)
    entries = {name: kind for names, kind in found for name in names.split(", ")}
    parameters = inspect.signature(estimator).parameters
    assert list(entries) == list(parameters)
    for name, kind in entries.items():
        default = parameters[name].default
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert kind.endswith(f"default={shown}"), name
