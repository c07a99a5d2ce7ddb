"""From a design and targets to a fit: dual, primal, accurate or matrix-free, as recorded."""

from skstretch.solve.choose import SOLVERS as SOLVERS
from skstretch.solve.choose import Solver as Solver
from skstretch.solve.choose import Spec as Spec
from skstretch.solve.choose import checked_spec as checked_spec
from skstretch.solve.choose import choose_space as choose_space
from skstretch.solve.choose import crossfit_space as crossfit_space
from skstretch.solve.choose import is_matrix_free as is_matrix_free
from skstretch.solve.choose import loses_digits as loses_digits
from skstretch.solve.choose import may_be_matrix_free as may_be_matrix_free
from skstretch.solve.direct import with_penalty as with_penalty
from skstretch.solve.direct import with_scale as with_scale
from skstretch.solve.model import FittedModel as FittedModel
from skstretch.solve.model import build_system as build_system
from skstretch.solve.model import coefficient_path as coefficient_path
from skstretch.solve.model import fit_model as fit_model
from skstretch.solve.model import fit_stretchy as fit_stretchy
from skstretch.solve.model import light_model as light_model
from skstretch.solve.model import warn_of_cancellation as warn_of_cancellation
