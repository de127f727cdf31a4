"""Prestack traces in any order as a table, their samples, and dense traces in time slices."""

from subsalt._moved import in_package

__getattr__ = in_package(__name__)
