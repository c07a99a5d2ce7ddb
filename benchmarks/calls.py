"""``make calls``: what the calls of a fitted search take beside its fit, in processor time.

Prints ratios of one run; no call should take more than five times the fit.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from skstretch import StretchyRegressorCV


def spectra(n: int = 60, p: int = 700) -> tuple[Any, Any]:
    """Smooth rows of eight factors, and a target of two places."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((n, 8)) @ rng.standard_normal((8, p)), axis=1) / 10
    X += 0.05 * rng.standard_normal(X.shape)
    return X, X[:, 5] - X[:, 50] + 0.3 * rng.standard_normal(n)


def seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    """One line for each call."""
    warnings.simplefilter("ignore")
    X, y = spectra()
    search, pairs = StretchyRegressorCV(), np.arange(len(y)) // 2
    fit = seconds(lambda: search.fit(X, y))
    calls: dict[str, Callable[[], Any]] = {
        "fit with groups of two": lambda: StretchyRegressorCV().fit(X, y, groups=pairs),
        "fit of ten features": lambda: StretchyRegressorCV(10).fit(X, y),
        "predict_interval": lambda: search.predict_interval(X),
        "influence": search.influence,
        "permutation_test": search.permutation_test,
        "effects": search.effects,
    }
    print(f"fit {fit:.2f} s")
    for name, call in calls.items():
        print(f"{name} {seconds(call) / fit:.1f} times the fit")


if __name__ == "__main__":
    main()
