"""Model files: fitted models written and read without pickle."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skstretch.exceptions import ModelFileError as ModelFileError

if TYPE_CHECKING:
    from skstretch.io.header import about as about
    from skstretch.io.model import load as load
    from skstretch.io.model import save as save

# Name -> its module, imported when the name is first asked for: who only writes a whole file with
# `skstretch.io.archive` does not wait for the estimators.
_HOMES = {"about": "header", "load": "model", "save": "model"}

__all__ = [*_HOMES, "ModelFileError"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
