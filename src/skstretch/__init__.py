"""Regression, classification and survival for wide data: few samples, very many features."""

import importlib as _importlib
import typing as _typing

from skstretch._version import __version__ as __version__

if _typing.TYPE_CHECKING:
    from skstretch.estimators import RecipeClassifierCV as RecipeClassifierCV
    from skstretch.estimators import RecipeRegressorCV as RecipeRegressorCV
    from skstretch.estimators import StabilitySelector as StabilitySelector
    from skstretch.estimators import StretchyClassifier as StretchyClassifier
    from skstretch.estimators import StretchyClassifierCV as StretchyClassifierCV
    from skstretch.estimators import StretchyRegressor as StretchyRegressor
    from skstretch.estimators import StretchyRegressorCV as StretchyRegressorCV
    from skstretch.estimators import StretchySurvivalCV as StretchySurvivalCV
    from skstretch.export import to_onnx as to_onnx
    from skstretch.features import FirstQuadrant as FirstQuadrant
    from skstretch.features import GaussianBasis as GaussianBasis
    from skstretch.features import RandomNetwork as RandomNetwork
    from skstretch.features import SpectralFilter as SpectralFilter
    from skstretch.io.model import load as load
    from skstretch.io.model import save as save


# Public name -> the room that it lives in. A name is imported when it is first asked for, so that
# `skstretch --help` does not wait for scikit-learn.
_HOMES = {
    "RecipeClassifierCV": "estimators",
    "RecipeRegressorCV": "estimators",
    "StabilitySelector": "estimators",
    "StretchyClassifier": "estimators",
    "StretchyClassifierCV": "estimators",
    "StretchyRegressor": "estimators",
    "StretchyRegressorCV": "estimators",
    "StretchySurvivalCV": "estimators",
    "to_onnx": "export",
    "FirstQuadrant": "features",
    "GaussianBasis": "features",
    "RandomNetwork": "features",
    "SpectralFilter": "features",
    "load": "io",
    "save": "io",
}
_ROOMS = ("core", "datasets", "exceptions", "features", "io", "plots")

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> _typing.Any:
    if name in _HOMES:
        found = getattr(_importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in _ROOMS:
        return _importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*(n for n in globals() if n[:2] == n[-2:] == "__"), *_HOMES, *_ROOMS})
