"""The experiments of the paper on stretchy regression, on the public API of skstretch alone."""
