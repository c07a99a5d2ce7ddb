"""Transformers: positive outputs for ``quadrant="identity"``, and filters of spectra."""

from skstretch.features.positive import FirstQuadrant as FirstQuadrant
from skstretch.features.positive import GaussianBasis as GaussianBasis
from skstretch.features.positive import RandomNetwork as RandomNetwork
from skstretch.features.spectral import SpectralFilter as SpectralFilter
