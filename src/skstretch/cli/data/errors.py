"""What commands raise: the message is meant for users."""


class DataError(ValueError):
    """A mistake in the data or in what was asked of them; the message has the way out."""


class Failure(Exception):  # noqa: N818  nobody made an error
    """Something that could not be done though the command and the data are sound."""
