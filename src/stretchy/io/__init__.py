"""Model files: fitted models written and read without pickle."""

from stretchy.io.about import about as about
from stretchy.io.errors import ModelFileError as ModelFileError
from stretchy.io.load import load as load
from stretchy.io.save import save as save
