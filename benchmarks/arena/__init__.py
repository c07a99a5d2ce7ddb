"""The arena: stretchy regression against its neighbours on real data.

Run it with ``python -m benchmarks.arena`` and the data folder in ``SKSTRETCH_DATA``.
"""
