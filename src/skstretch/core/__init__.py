"""The mathematics: arrays in, arrays and frozen dataclasses out."""

from skstretch.core.formulas import coef_covariance as coef_covariance
from skstretch.core.formulas import expected_coef as expected_coef
from skstretch.core.formulas import k_measure as k_measure
from skstretch.core.formulas import k_measure_power as k_measure_power
from skstretch.core.formulas import scaling_vector as scaling_vector
from skstretch.core.formulas import smooth_abs as smooth_abs
from skstretch.core.formulas import solve_dual as solve_dual
from skstretch.core.formulas import solve_primal as solve_primal
from skstretch.core.formulas import solve_qr as solve_qr
from skstretch.core.stretch import keep_count as keep_count
from skstretch.core.stretch import penalty as penalty
from skstretch.core.stretch import stretch_exponent as stretch_exponent
from skstretch.core.stretch import strongest as strongest
