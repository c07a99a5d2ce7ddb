"""Warnings that a user may want to filter by name."""


class IllConditionedWarning(UserWarning):
    """The system that was solved is close to singular: the coefficients carry few digits."""


class GridEdgeWarning(UserWarning):
    """The chosen cell lies on the edge of its grid: a better one may lie beyond."""


# What is raised for a file that is not a sound model.


class ModelFileError(ValueError):
    """The file is not a model that this version of skstretch can read; the message says why."""


# What can go wrong with a data file.


class DatasetNotFoundError(FileNotFoundError):
    """The files of a data set are nowhere; the message says what was tried and the way out."""


class ChecksumError(ValueError):
    """A data file is not the file that the registry describes."""


# What commands raise: the message is meant for users.


class DataError(ValueError):
    """A mistake in the data or in what was asked of them; the message has the way out."""


class Failure(Exception):  # noqa: N818  nobody made an error
    """Something that could not be done though the command and the data are sound."""
