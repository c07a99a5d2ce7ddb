"""What can go wrong with a data file."""


class DatasetNotFoundError(FileNotFoundError):
    """The files of a data set are nowhere; the message says what was tried and the way out."""


class ChecksumError(ValueError):
    """A data file is not the file that the registry describes."""
