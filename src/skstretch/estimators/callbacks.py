"""Scikit-learn's callbacks where the installed version has them: the only place that asks."""

from collections.abc import Callable
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False
    Method = TypeVar("Method", bound=Callable[..., Any])

    class CallbackSupport:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin before version 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Leave the method as it is."""
        return method


class Reporter:
    """Tells the callbacks of an estimator about every cell of a search."""

    def __init__(self, estimator: Any, n_cells: int) -> None:
        self.estimator, self.root = estimator, None
        if HAS_CALLBACKS and getattr(estimator, "_skl_callbacks", None):
            self.root = estimator._init_callback_context(
                task_name="search", max_subtasks=n_cells
            ).call_on_fit_task_begin(estimator=estimator)

    def step(self) -> None:
        """One more cell is done."""
        if self.root is not None:
            task = self.root.subcontext(task_name="cell")
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)

    def close(self) -> None:
        """The search is done."""
        if self.root is not None:
            self.root.call_on_fit_task_end(estimator=self.estimator)
