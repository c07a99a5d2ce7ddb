"""Every error and warning that a user may want to catch by name.

This module imports nothing, so that any room may raise what it defines and `skstretch --help` need
not wait for numpy.
"""

# Warnings: the work goes on.


class IllConditionedWarning(UserWarning):
    """The system that was solved is close to singular: the coefficients carry few digits."""


class GridEdgeWarning(UserWarning):
    """The chosen candidate lies on the edge of its grid: a better one may lie beyond."""


class LongSearchWarning(UserWarning):
    """The search that was asked for takes hours: its candidates need systems of very many rows."""


class SmallerSearchWarning(UserWarning):
    """The data do not fit the working memory: the search tries less than it would in memory."""


class PoorTargetsWarning(UserWarning):
    """The targets teach little: they do not vary, or a class has one sample."""


class OtherVersionWarning(UserWarning):
    """A pickle was written by another version; `sklearn.exceptions` has one for its own."""


class DependentSamplesWarning(UserWarning):
    """Samples look like copies or neighbours of each other: left-out errors are too small."""


class GrossErrorWarning(UserWarning):
    """Some samples lie far from what all the others predict."""


# What a fit, or a question to a fitted model, can fail of.


class SingularSystemError(ValueError):
    """The system has no unique solution in floating point.

    What is raised is a `numpy.linalg.LinAlgError` as well.
    """


class NeedsInverseError(ValueError):
    """Something was asked of a matrix-free fit that only a factorised one knows."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f'{what} needs the inverse of the system, which solver="krylov" never forms: fit again '
            'with solver="dual" (fewer samples than features) or solver="primal", on a machine '
            "that holds three square matrices of the smaller side."
        )


class RowsForgottenError(AttributeError, ValueError):
    """What is asked for needs the training rows, and the model does not have them.

    An AttributeError, so that ``hasattr(model, "dual_coef_")`` is False.
    """


# What can go wrong on a Dask cluster.


class BlockError(RuntimeError):
    """A block of X could not be made, or the worker that had it died."""


class InterruptedPassError(RuntimeError):
    """The cluster went away in the middle of a pass."""


class LostDataError(RuntimeError):
    """The blocks of X were kept on a cluster that is not there any more."""

    def __init__(self) -> None:
        super().__init__(
            "the blocks of X were kept on a Dask cluster (X.persist()) that is gone, or whose "
            "client is closed. Connect a client to that cluster, or fit again to an array that "
            "can be read again; predict needs the coefficients alone, and still works."
        )


# What can be wrong with a file.


class ModelFileError(ValueError):
    """The file is not a model that this version of skstretch can read; the message says why."""


class DatasetNotFoundError(FileNotFoundError):
    """The files of a data set are nowhere; the message says what was tried and the way out."""


class ChecksumError(ValueError):
    """A data file is not the file that the registry describes."""


# What commands raise: the message is meant for users of the command line.


class DataError(ValueError):
    """A mistake in the data or in what was asked of them; the message has the way out."""


class Failure(Exception):  # noqa: N818  nobody made an error
    """Something that could not be done though the command and the data are sound."""
