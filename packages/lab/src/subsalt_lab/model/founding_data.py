"""Tables of founding documents 000 and 001 on reverse time migration: seconds by number of nodes."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt.plan.model.cut import Shape

#: time samples of a run; a point-step is a point advanced by one of them, source and receiver wavefield together
STEPS = 800
#: planes beyond a cut that a node holds of its neighbour
GHOST = 4


@dataclass(frozen=True)
class Measured:
    """Document 001, Lustre columns: seconds of a run on some nodes."""

    nodes: int
    init: float
    total: float
    kernel: float


@dataclass(frozen=True)
class Rewritten:
    """Document 000: seconds of the run with the rewritten input, and of the traces before and after."""

    nodes: int
    total: float
    init: float
    trace_before: float
    trace: float


GRIDS: dict[str, Shape] = {
    "125": (125, 1151, 1231),
    "1243": (1243, 1151, 1231),
    "2486": (2486, 1151, 1231),
}

MEASURED: dict[str, tuple[Measured, ...]] = {
    "125": (
        Measured(1, 4.54, 892.4, 484.89),
        Measured(2, 2.54, 605.62, 238.8),
        Measured(4, 1.57, 341.14, 124.66),
        Measured(8, 1.4, 223.38, 62.34),
        Measured(12, 1.54, 217.77, 49.53),
        Measured(16, 1.58, 227.91, 41.76),
        Measured(20, 1.6, 232.0, 35.02),
        Measured(24, 1.59, 251.48, 35.38),
    ),
    "1243": (
        Measured(8, 10.02, 1200.71, 645.27),
        Measured(12, 9.35, 884.27, 422.17),
        Measured(16, 8.97, 826.37, 317.96),
        Measured(20, 8.93, 658.54, 255.27),
        Measured(24, 8.9, 553.75, 210.82),
    ),
    "2486": (
        Measured(12, 22.5, 1579.95, 853.37),
        Measured(16, 17.39, 1309.32, 646.22),
        Measured(20, 16.91, 1143.47, 517.03),
        Measured(24, 15.63, 1107.66, 427.4),
    ),
}

REWRITTEN: dict[str, tuple[Rewritten, ...]] = {
    "1243": (
        Rewritten(12, 792.0, 3.3, 69.9, 4.2),
        Rewritten(16, 582.0, 2.5, 64.2, 2.7),
        Rewritten(20, 480.0, 1.5, 67.7, 2.4),
        Rewritten(24, 378.0, 1.2, 71.5, 2.2),
    ),
    "2486": (
        Rewritten(12, 1386.0, 14.9, 296.3, 14.6),
        Rewritten(16, 1080.0, 11.3, 110.7, 4.6),
        Rewritten(20, 924.0, 3.9, 118.3, 3.9),
        Rewritten(24, 810.0, 4.9, 121.5, 3.2),
    ),
}
