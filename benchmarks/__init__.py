"""Measurements: accuracy, speed, and a comparison with other methods. Run as `python -m`."""
