"""Exact cross-validation over a grid of (a, k, c, density)."""

from stretchy.search.cells import Cell as Cell
from stretchy.search.cells import Outcome as Outcome
from stretchy.search.crossfit import crossfit as crossfit
from stretchy.search.finish import finished_model as finished_model
from stretchy.search.folds import Folds as Folds
from stretchy.search.folds import folds_from_splits as folds_from_splits
from stretchy.search.folds import leave_one_out as leave_one_out
from stretchy.search.grid import STRENGTHS as STRENGTHS
from stretchy.search.grid import Grid as Grid
from stretchy.search.grid import Problem as Problem
from stretchy.search.grid import outcomes as outcomes
from stretchy.search.progress import Progress as Progress
from stretchy.search.rule import RULES as RULES
from stretchy.search.rule import judge as judge
from stretchy.search.scoring import Scored as Scored
from stretchy.search.scoring import unscored as unscored
from stretchy.search.table import results_table as results_table
