"""The version, in one place: read by the build, by files, and by pickles that remember it."""

import warnings
from typing import Any

from skstretch.exceptions import OtherVersionWarning

__version__ = "0.3.0"

# beside the attributes of an object in its pickle
_KEY = "_skstretch_version"


class Versioned:
    """Pickles remember the version that wrote them, and warn where another one reads them.

    Goes before `sklearn.base.BaseEstimator`, which does the same for scikit-learn's own classes.
    """

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {**state, _KEY: __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        writer = rest.pop(_KEY, "0.1 or earlier")
        if writer != __version__:
            warnings.warn(
                f"this {type(self).__name__} was pickled by skstretch {writer} and is read by "
                f"{__version__}: it may fail, or answer otherwise than it did. Fit it again; for "
                "keeps, use skstretch.save, whose files later versions read.",
                OtherVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(rest)  # type: ignore[misc]
