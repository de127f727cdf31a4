"""How much of what could be tried is tried: a sample in ``make test``, all of it in ``make test-all``."""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import TypeVar

import pytest

Item = TypeVar("Item")

#: every strike, form and number of ranks, by ``SUBSALT_TESTS=all``
ALL = os.environ.get("SUBSALT_TESTS") == "all"

#: marks a test, or one row of its parameters, of ``make test-all`` alone: a smaller one of its kind is always tried
thorough = pytest.mark.thorough


def sample(few: int, every: int) -> int:
    """Return how many to try: few in ``make test``, every one in ``make test-all``."""
    return every if ALL else few


def some(items: Iterable[Item], few: int) -> list[Item]:
    """Return items to try: `few`, evenly spread, the first and the last among them; every one in ``make test-all``."""
    every = list(items)
    if ALL or few >= len(every):
        return every
    return [every[round(i * (len(every) - 1) / max(1, few - 1))] for i in range(few)]


def pairs(
    *values: Iterable[object], without: Callable[..., bool] = lambda *row: False
) -> list[tuple[object, ...]]:
    """Return combinations of values to try: some in which every pair of values of two lists occurs together, as few as
    a greedy search finds; every combination in ``make test-all``. None of those that `without` names.
    """
    every = [row for row in product(*values) if not without(*row)]
    if ALL:
        return every
    left = {pair for row in every for pair in _pairs_of(row)}
    chosen = []
    while left:
        row = max(every, key=lambda row: len(left & _pairs_of(row)))
        chosen.append(row)
        left -= _pairs_of(row)
    return [row for row in every if row in chosen]


def each(*values: Sequence[object]) -> list[tuple[object, ...]]:
    """Return combinations of values to try: so few that every value of each list occurs in one; every combination in
    ``make test-all``. For what takes long and is tried in all combinations elsewhere, by smaller parts.
    """
    if ALL:
        return list(product(*values))
    return [tuple(of[i % len(of)] for of in values) for i in range(max(map(len, values)))]


def alternating(rows: Sequence[tuple[int, ...]]) -> list[bool]:
    """Return which rows to try, where a row says for each parameter which of its values it has, the last one, of two
    values, independent of the others: those that the colours of a chess board choose.

    So every combination of the other parameters is tried with one value of the last, and where they are a product
    every combination of all but one of them with both. Of combinations that `pairs` chose so many more are tried that
    every value of a parameter meets both. All rows are tried where there is one other parameter or one value of the
    last, and in ``make test-all``.
    """
    columns = [column for column in zip(*(row[:-1] for row in rows), strict=True) if len(set(column)) > 1]
    columns = list(dict.fromkeys(columns))
    if ALL or len(columns) < 2 or len({row[-1] for row in rows}) < 2:
        return [True] * len(rows)
    met: set[tuple[int, int, int]] = set()
    tried = []
    for of, row in zip(zip(*columns, strict=True), rows, strict=True):
        tried.append((sum(of) + row[-1]) % 2 == 0)
        met |= _with_last(of, row[-1]) if tried[-1] else set()
    for i, of in enumerate(zip(*columns, strict=True)):
        if new := _with_last(of, rows[i][-1]) - met:
            tried[i] = True
            met |= new
    return tried


def _with_last(of: tuple[int, ...], last: int) -> set[tuple[int, int, int]]:
    return {(column, value, last) for column, value in enumerate(of)}


def _pairs_of(row: tuple[object, ...]) -> set[object]:
    return {((i, a), (j, b)) for (i, a), (j, b) in combinations(enumerate(row), 2)}
