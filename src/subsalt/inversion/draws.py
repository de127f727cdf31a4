"""Which shots an iteration takes: drawn without replacement, pass after pass, from a seed alone.

A pass takes every shot once, in the order of the SHA-256 of the text ``seed pass shot``. The draws of an iteration
follow from these numbers alone: there is no state of a random generator that a run would have to keep, and they are the
same for any number of ranks, after any kill, and in any version of Python or NumPy.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from subsalt.errors import ConfigError


def refuse_large_subset(subset: int, shots: int) -> None:
    """Raise when an iteration would take more shots than there are (E104)."""
    if subset > shots:
        raise ConfigError(
            f"subset = {subset}: the survey has {shots} shot{'s' * (shots != 1)}",
            f"use {shots} or fewer; or leave it out, and each iteration takes all shots",
            code="E104",
        )


@dataclass(frozen=True)
class Draws:
    """The draws of an inversion.

    Parameters
    ----------
    shots : tuple of int
        Numbers of all shots, in survey order.
    subset : int
        Shots of an iteration; the last of a pass takes those that are left, which may be fewer.
    seed : int
        Seed; another one gives other draws.
    """

    shots: tuple[int, ...]
    subset: int
    seed: int

    @property
    def per_pass(self) -> int:
        """Iterations that together take every shot once."""
        return -(-len(self.shots) // self.subset)

    def drawn(self, iteration: int) -> list[int]:
        """Return the shots of an iteration, which count from 1, in survey order."""
        number, place = divmod(iteration - 1, self.per_pass)
        chosen = set(self.order(number)[place * self.subset : (place + 1) * self.subset])
        return [shot for shot in self.shots if shot in chosen]

    def order(self, number: int) -> list[int]:
        """Return all shots in the order of a pass; passes count from 0."""

        def key(shot: int) -> bytes:
            return hashlib.sha256(f"{self.seed} {number} {shot}".encode("ascii")).digest()

        return sorted(self.shots, key=key)

    def units(self, done: int, iterations: int) -> int:
        """Return how many shots the iterations behind `done`, up to `iterations`, take together."""

        def first(n: int) -> int:
            passes, place = divmod(n, self.per_pass)
            return passes * len(self.shots) + min(place * self.subset, len(self.shots))

        return max(0, first(iterations) - first(done))
