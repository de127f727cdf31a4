"""A volume in memory that counts how often each of its planes is read."""

from __future__ import annotations

import numpy as np

from subsalt.earth.planes import InMemoryPlanes


class CountedPlanes(InMemoryPlanes):
    """`reads` has the count of every plane."""

    def __init__(self, values):
        super().__init__(values)
        self.reads = np.zeros(len(values), int)

    def read(self, lo, hi):
        self.reads[lo:hi] += 1
        return super().read(lo, hi)
