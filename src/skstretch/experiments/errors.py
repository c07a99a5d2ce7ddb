"""The paper's errors, and the time that a fit takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ERRORS", "Timed", "balanced_error_rate", "timed"]


def balanced_error_rate(y: NDArray[Any], outputs: NDArray[Any]) -> float:
    """Mean of the error rates of the classes −1 and +1; an output above zero is class +1."""
    positive = outputs > 0
    return float((np.mean(~positive[y > 0]) + np.mean(positive[y < 0])) / 2)


def mean_squared_error(y: NDArray[Any], outputs: NDArray[Any]) -> float:
    """Mean of (y − output)²."""
    return float(np.mean((y - outputs) ** 2))


def root_mean_squared_error(y: NDArray[Any], outputs: NDArray[Any]) -> float:
    """Root of the mean of (y − output)²."""
    return float(np.sqrt(mean_squared_error(y, outputs)))


ERRORS: dict[str, Callable[[NDArray[Any], NDArray[Any]], float]] = {
    "mse": mean_squared_error,
    "rmse": root_mean_squared_error,
    "ber": balanced_error_rate,
}


class Timed(NamedTuple):
    """A result, and the seconds of processor and of clock that it took."""

    value: Any
    cpu: float
    wall: float


def timed(action: Callable[..., Any], *arguments: Any, **options: Any) -> Timed:
    """Call the action; the processor time is that of this process, all threads together."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = action(*arguments, **options)
    return Timed(value, time.process_time() - cpu, time.perf_counter() - wall)
