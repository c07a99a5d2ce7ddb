"""Model files: fitted models written and read without pickle."""

from skstretch.exceptions import ModelFileError as ModelFileError
from skstretch.io.header import about as about
from skstretch.io.read import load as load
from skstretch.io.write import save as save
