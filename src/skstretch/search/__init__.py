"""Exact cross-validation over a grid of (a, k, c, density)."""

from skstretch.search.cells import Cell as Cell
from skstretch.search.cells import Folds as Folds
from skstretch.search.cells import Outcome as Outcome
from skstretch.search.cells import Problem as Problem
from skstretch.search.cells import folds_from_splits as folds_from_splits
from skstretch.search.cells import leave_one_out as leave_one_out
from skstretch.search.contest import MANY_CLASSES as MANY_CLASSES
from skstretch.search.contest import Contest as Contest
from skstretch.search.grid import STRENGTHS as STRENGTHS
from skstretch.search.grid import Grid as Grid
from skstretch.search.grid import crossfit as crossfit
from skstretch.search.grid import finished_model as finished_model
from skstretch.search.grid import in_one_walk as in_one_walk
from skstretch.search.grid import outcomes as outcomes
from skstretch.search.mix import Mix as Mix
from skstretch.search.record import Outcomes as Outcomes
from skstretch.search.record import kept_outcomes as kept_outcomes
from skstretch.search.record import light_design as light_design
from skstretch.search.rule import RULES as RULES
from skstretch.search.rule import Verdict as Verdict
