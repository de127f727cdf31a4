"""How much of what could be tried is tried: a sample in ``make test``, all of it in ``make test-all``."""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from math import prod
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

    So every combination of the other parameters is tried with one value of the last, and every combination of all but
    one of them with both. All rows are tried where they are not a product of three other parameters at least, and in
    ``make test-all``.
    """
    columns = {column for column in zip(*(row[:-1] for row in rows), strict=True) if len(set(column)) > 1}
    every = prod(len(set(column)) for column in columns)
    whole = len({row[:-1] for row in rows}) == every and len(rows) == 2 * every
    if ALL or len(columns) < 3 or not whole:
        return [True] * len(rows)
    return [(sum(of) + row[-1]) % 2 == 0 for of, row in zip(zip(*columns, strict=True), rows, strict=True)]


def _pairs_of(row: tuple[object, ...]) -> set[object]:
    return {((i, a), (j, b)) for (i, a), (j, b) in combinations(enumerate(row), 2)}
