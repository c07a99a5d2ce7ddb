"""Dask arrays as designs: blocks of features or of rows, worked on where they lie."""
