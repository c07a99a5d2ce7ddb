"""
Concentration from spectra
==========================

A first look.
"""

import matplotlib.pyplot as plt

from skstretch import StretchyRegressorCV
from skstretch.datasets import make_spectra

X, y = make_spectra(return_X_y=True)
model = StretchyRegressorCV().fit(X, y)
plt.plot(X.T)
