"""The mathematics: arrays in, arrays and frozen dataclasses out."""

from stretchy.core.closed import solve_dual as solve_dual
from stretchy.core.closed import solve_primal as solve_primal
from stretchy.core.closed import solve_qr as solve_qr
from stretchy.core.density import keep_count as keep_count
from stretchy.core.density import strongest as strongest
from stretchy.core.measure import k_measure as k_measure
from stretchy.core.measure import k_measure_power as k_measure_power
from stretchy.core.measure import scaling_vector as scaling_vector
from stretchy.core.measure import smooth_abs as smooth_abs
from stretchy.core.stretch import penalty as penalty
from stretchy.core.stretch import stretch_exponent as stretch_exponent
from stretchy.core.variance import coef_covariance as coef_covariance
from stretchy.core.variance import expected_coef as expected_coef
