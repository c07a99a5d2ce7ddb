"""Transformers with positive outputs, ready for ``quadrant="identity"`` or on their own."""

from skstretch.features.basis import GaussianBasis as GaussianBasis
from skstretch.features.network import RandomNetwork as RandomNetwork
from skstretch.features.quadrant import FirstQuadrant as FirstQuadrant
