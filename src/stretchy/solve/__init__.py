"""From a design and targets to a fit: dual, primal or accurate, decided here and recorded."""

from stretchy.solve.fit import Solution as Solution
from stretchy.solve.fit import build_system as build_system
from stretchy.solve.fit import choose_space as choose_space
from stretchy.solve.fit import fit_stretchy as fit_stretchy
from stretchy.solve.fit import loses_digits as loses_digits
from stretchy.solve.interval import interval_bounds as interval_bounds
from stretchy.solve.model import FittedModel as FittedModel
from stretchy.solve.model import fit_model as fit_model
from stretchy.solve.path import coefficient_path as coefficient_path
from stretchy.solve.spec import SOLVERS as SOLVERS
from stretchy.solve.spec import Solver as Solver
from stretchy.solve.spec import Spec as Spec
