"""How the rounds of a run make up its iterations.

Round 0 makes the state before the first step. Behind it every iteration has the same number of rounds: one where a
step is exact by what its units return together, as that of conjugate gradients is, and two where a direction has to be
summed over all units before any of them can say how far it leads (`subsets`). The state of a round that ends no
iteration is that of an iteration under way: nothing but the next round reads it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IterationRounds:
    """Rounds and iterations of a run, both counted from 0; iteration 0 is round 0 alone.

    Parameters
    ----------
    each : int
        Rounds of an iteration; 0 where iterations take no units (least squares in the image domain).
    """

    each: int

    def iteration(self, number: int) -> int:
        """Return the iteration of which a round is a part."""
        return -(-number // self.each) if self.each else 0

    def ends(self, number: int) -> bool:
        """Return whether a round ends its iteration."""
        return number == self.last(self.iteration(number))

    def last(self, iteration: int) -> int:
        """Return the round that ends an iteration."""
        return iteration * self.each
