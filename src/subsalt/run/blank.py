"""The refusal of an image that is zero throughout or not finite, with the step that made it so.

A user could take an image of zeros for a survey without reflectors. It is an error, which names the step that emptied
it. All results stay in the run directory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import NumericalFailure, SubsaltError
from subsalt.parallel.comm import Comm

#: shots whose traces are read again to see whether there was anything in them
LOOKED_AT = 5
#: traces of a time migration, for the same
TRACES = 200
#: values that are examined together
PIECE = 1 << 22
KEPT = "what was computed is kept in the run directory"


@dataclass
class Contents:
    """How many values of an array are not zero, and how many are not finite.

    Parameters
    ----------
    size, live, bad : int
        Values; those that are finite and not zero; those that are not finite.
    """

    size: int = 0
    live: int = 0
    bad: int = 0

    def add(self, values: NDArray[Any]) -> None:
        """Count some more values."""
        flat = values.reshape(-1)
        for a in range(0, flat.size, PIECE):
            some = flat[a : a + PIECE]
            bad = some.size - int(np.count_nonzero(np.isfinite(some)))
            self.bad += bad
            self.live += int(np.count_nonzero(some)) - bad
        self.size += flat.size

    @classmethod
    def of(cls, values: NDArray[Any]) -> Contents:
        """Return the contents of an array."""
        contents = cls()
        contents.add(values)
        return contents

    def on_all(self, world: Comm) -> Contents:
        """Return the contents of the parts of all ranks together. Collective."""
        parts = world.allgather([self.size, self.live, self.bad])
        return Contents(*(sum(p[i] for p in parts) for i in range(3)))


def not_finite(what: str, contents: Contents, step: str) -> SubsaltError:
    """Return the error of a result with values that are not finite."""
    return NumericalFailure(
        f"{contents.bad} of {contents.size} values of the {what} are not finite, after the step: {step}",
        f"look for absurd amplitudes in the traces (`subsalt scan`) and for zeros in the model; {KEPT}",
        code="E846",
    )
