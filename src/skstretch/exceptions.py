"""Warnings that a user may want to filter by name."""


class IllConditionedWarning(UserWarning):
    """The system that was solved is close to singular: the coefficients carry few digits."""


class GridEdgeWarning(UserWarning):
    """The chosen cell lies on the edge of its grid: a better one may lie beyond."""
