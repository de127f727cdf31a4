"""Prestack traces in any order as a table, their samples, and dense traces in time slices."""
