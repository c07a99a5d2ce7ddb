"""The version, in one place: read by the build, and by every room that must name it."""

__version__ = "0.2.0"
