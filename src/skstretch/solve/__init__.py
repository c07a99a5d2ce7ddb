"""From a design and targets to a fit: dual, primal, accurate or matrix-free, as recorded."""

from skstretch.solve.choose import Spec as Spec
from skstretch.solve.choose import checked_spec as checked_spec
from skstretch.solve.choose import choose_space as choose_space
from skstretch.solve.choose import loses_digits as loses_digits
from skstretch.solve.direct import with_penalty as with_penalty
from skstretch.solve.model import FittedModel as FittedModel
from skstretch.solve.model import build_system as build_system
from skstretch.solve.model import coefficient_path as coefficient_path
from skstretch.solve.model import fit_model as fit_model
from skstretch.solve.model import fit_stretchy as fit_stretchy
from skstretch.solve.model import light_model as light_model
from skstretch.solve.model import warn_of_cancellation as warn_of_cancellation
