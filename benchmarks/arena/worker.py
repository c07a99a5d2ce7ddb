"""One fit and prediction in a process of its own, with a limit on its time.

A child can be stopped in the middle of compiled code, and its crash does not end the run.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

try:
    import resource
except ImportError:  # Windows has no limits on CPU time, but a clock.
    resource = None

from .methods import METHODS

DONE = "ok"
TOO_SLOW = "skipped: too slow"
# One thread for everyone: times compare work, not schedulers.
THREADS = 1
# The limit is on CPU time, because others may use the machine and a run may be paused. Where there
# is none, the clock has a looser one.
PATIENCE = 20


@dataclass(frozen=True)
class Outcome:
    """What came of a fit: a prediction, or a status that says why there is none."""

    prediction: NDArray | None
    seconds: float
    cpu_seconds: float
    status: str


def warm_up(kind: str, method: str) -> None:
    """Fit a toy problem here, so that no child's time includes imports.

    Raises what the method raises, such as ImportError where its package is missing.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    y = y if kind == "regression" else np.where(y > 0, 1, -1)
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        METHODS[kind][method].fit(X, y).predict(X)


def fit_predict(
    kind: str, method: str, train: tuple[Any, NDArray], X_test: Any, limit: float
) -> Outcome:
    """Fit `method` to `train` and predict `X_test`; stop it after `limit` CPU seconds."""
    receiver, sender = _context().Pipe(duplex=False)
    child = _context().Process(target=_work, args=(sender, kind, method, train, X_test, limit))
    child.start()
    # Without this the pipe has a second writer, and a crash would not show as its end.
    sender.close()
    try:
        if receiver.poll(None if resource else PATIENCE * limit):
            return receiver.recv()
        return Outcome(None, limit, np.nan, TOO_SLOW)
    except EOFError:
        child.join()
        if resource and child.exitcode == -signal.SIGXCPU:
            return Outcome(None, limit, np.nan, TOO_SLOW)
        return Outcome(None, np.nan, np.nan, f"failed: exit code {child.exitcode}")
    finally:
        receiver.close()
        child.kill()
        child.join()


def _context() -> Any:
    # A fork shares the data and the imports; elsewhere the child reads them anew.
    forks = "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if forks else "spawn")


def _work(
    sender: Connection,
    kind: str,
    method: str,
    train: tuple[Any, NDArray],
    X_test: Any,
    limit: float,
) -> None:
    if resource:
        whole = max(1, round(limit))
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 5))
    with threadpool_limits(THREADS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            prediction = np.ravel(METHODS[kind][method].fit(*train).predict(X_test))
            status = DONE if _is_finite(prediction) else "failed: prediction is not finite"
        except Exception as error:
            prediction, status = None, f"failed: {type(error).__name__}: {error}"
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sender.send(Outcome(prediction if status == DONE else None, wall, cpu, status))


def _is_finite(prediction: NDArray) -> bool:
    return prediction.dtype.kind != "f" or bool(np.isfinite(prediction).all())
