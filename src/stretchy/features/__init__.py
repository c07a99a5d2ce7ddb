"""Transformers with positive outputs, ready for ``quadrant="identity"`` or on their own."""

from stretchy.features.basis import GaussianBasis as GaussianBasis
from stretchy.features.network import RandomNetwork as RandomNetwork
from stretchy.features.quadrant import FirstQuadrant as FirstQuadrant
