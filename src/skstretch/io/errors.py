"""What is raised for a file that is not a sound model."""


class ModelFileError(ValueError):
    """The file is not a model that this version of skstretch can read; the message says why."""
