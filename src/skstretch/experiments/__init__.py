"""Statistics and tables for comparing methods over many data sets."""
