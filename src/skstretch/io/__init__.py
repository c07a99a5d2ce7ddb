"""Model files: fitted models written and read without pickle."""

from skstretch.io.about import about as about
from skstretch.io.errors import ModelFileError as ModelFileError
from skstretch.io.load import load as load
from skstretch.io.save import save as save
