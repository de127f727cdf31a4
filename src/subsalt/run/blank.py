"""An image without a value, or with values that are no numbers: refused at the end, with the step that made it so.

A run that ends well has an image that somebody can look at. One that is zero throughout is looked at as well, and taken
for a survey without reflectors; it is an error, told with the step that emptied it. What was computed stays in the run
directory.
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
#: values that are looked at together
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
