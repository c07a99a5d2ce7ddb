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
    entries = dict(re.findall(r"^(\w+) : (.*)\n    \S", section, re.MULTILINE))
    parameters = inspect.signature(estimator).parameters
    assert list(entries) == [*dict.fromkeys(entries)]
    assert set(entries) == set(parameters)
    for name, kind in entries.items():
        default = parameters[name].default
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert kind.endswith(f"default={shown}"), name
