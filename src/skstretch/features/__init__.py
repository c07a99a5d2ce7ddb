"""Transformers: positive outputs for ``quadrant="identity"``, and filters of spectra."""

from skstretch.features.quadrant import FirstQuadrant as FirstQuadrant
from skstretch.features.random import GaussianBasis as GaussianBasis
from skstretch.features.random import RandomNetwork as RandomNetwork
from skstretch.features.spectral import SpectralFilter as SpectralFilter
