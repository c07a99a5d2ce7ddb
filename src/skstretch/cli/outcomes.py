"""Targets of two columns: an event and its time, or counts and their exposure."""

from typing import Any

import numpy as np

from skstretch.exceptions import DataError

# words for an event and for none
EVENTS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def survival(event: Any, time: Any, names: tuple[str, str]) -> Any:
    """Events and times as one structured array; both have `numbers`, `words` and `odd`."""
    words = [word.strip().lower() for word in event.words]
    odd = next((word for word in words if word not in EVENTS), None)
    if odd is not None:
        raise DataError(
            f"--event {names[0]!r} holds {odd!r}: an event is 1 or 0, true or false, yes or no."
        )
    if time.numbers is None:
        raise DataError(f"--time {names[1]!r} holds text ({time.odd!r}): times are numbers.")
    if time.numbers.min() < 0:
        raise DataError(f"--time {names[1]!r} has {time.numbers.min():g}: times start at 0.")
    found = np.empty(len(words), dtype=[("event", bool), ("time", float)])
    found["event"], found["time"] = [EVENTS[word] for word in words], time.numbers
    if not found["event"].any():
        raise DataError(
            f"--event {names[0]!r} is 0 in all rows: nothing tells who is at risk. Is it coded the "
            "other way round?"
        )
    return found


def exposed(counts: Any, exposure: Any, weights: Any, name: str | None) -> tuple[Any, Any]:
    """Rates and their weights, from counts and exposures."""
    if exposure is None:
        return counts, weights
    if exposure.numbers is None:
        raise DataError(f"--exposure {name!r} holds text ({exposure.odd!r}): pass numbers.")
    if not np.isfinite(exposure.numbers).all() or not exposure.numbers.min() > 0:
        raise DataError(
            f"--exposure {name!r} has {exposure.numbers.min():g}: pass numbers above 0."
        )
    rates = counts / exposure.numbers
    return rates, exposure.numbers if weights is None else weights * exposure.numbers
