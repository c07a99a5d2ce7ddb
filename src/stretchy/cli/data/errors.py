"""What is raised for data that cannot be used."""


class DataError(ValueError):
    """A mistake in the data or in what was asked of them; the message has the way out."""
