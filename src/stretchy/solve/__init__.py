"""From a design and targets to a fit: dual, primal, accurate or matrix-free, as recorded."""

from stretchy.solve.fit import Solution as Solution
from stretchy.solve.fit import build_system as build_system
from stretchy.solve.fit import choose_space as choose_space
from stretchy.solve.fit import fit_stretchy as fit_stretchy
from stretchy.solve.fit import is_large as is_large
from stretchy.solve.fit import is_matrix_free as is_matrix_free
from stretchy.solve.fit import loses_digits as loses_digits
from stretchy.solve.interval import interval_bounds as interval_bounds
from stretchy.solve.iteration import iteration_line as iteration_line
from stretchy.solve.model import FittedModel as FittedModel
from stretchy.solve.model import fit_model as fit_model
from stretchy.solve.model import light_model as light_model
from stretchy.solve.path import coefficient_path as coefficient_path
from stretchy.solve.spec import SOLVERS as SOLVERS
from stretchy.solve.spec import Solver as Solver
from stretchy.solve.spec import Spec as Spec
