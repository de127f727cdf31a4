"""Passes over a slab: which planes each step of a pass advances, and in which order; pure arithmetic.

One process does several time steps in one pass over memory. A slab cannot do so up to its cuts: the planes that a
neighbour reads must be sent after every step. So a pass of c steps splits the planes [a, b) that a rank owns, here at
the upper cut b, g planes of which travel:

- *Shells*, in stages: before stage s the ghost planes of level s have come. Step k advances the planes [h_k, b) with
  h_k = b - g - (c - k) S, all that the last message of the pass depends on, no more. Of these, stage 0 does the planes
  below b - (k - 1) S, several steps in one sweep, since they depend on no later ghost planes; and stage s the S planes
  from there on that depend on those of level s. After it level s + 1 is complete in [b - g, b), and is sent.
- The *core*, all steps in one pass over memory: step k advances the planes below h_k. What it reads beyond stands in
  the arrays when all shells are done: of the planes [h_k, h_{k+1}) the levels k and k - 1.

S is the radius M of the stencil. Near a layer of x it is 2 M: step k reads Psi of x up to M planes beyond its own, so
of two pieces the one that comes first also advances Psi of M planes of the other.

No step is done twice. A sweep over the core that has not come near the upper shells does not depend on them, so its
first tiles go *ahead* while a message is on its way. At the lower cut they begin at planes x_k = x_1 + (k - 1) S, and
leave the *wedge* of planes from the shells up to x_k to be done afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

#: planes of one step: field from, to; Psi from, to
Planes = tuple[int, int, int, int]

#: steps that a pass may have at most
DEEPEST = 6

#: time per point-step in a pass of that many steps, relative to the deepest: VTI and isotropic, order 8
PACE = {1: 1.5, 2: 1.2, 3: 1.08, 4: 1.02, 5: 1.01, 6: 1.0}

#: the same of the stages of the shells after the first, of whose planes a cache still holds some
STAGED = 1.25


@dataclass(frozen=True)
class Cuts:
    """A slab as its passes see it, in local plane indices.

    Parameters
    ----------
    planes : int
        Planes held.
    lo, hi : int
        Planes owned, [lo, hi).
    sent_lo, sent_hi : int
        Planes that the neighbours below and above hold of them as ghosts; 0 where the grid ends.
    radius : int
        Stencil radius M.
    layer : tuple of int
        Held planes in the PML at the low and the high end of x.
    """

    planes: int
    lo: int
    hi: int
    sent_lo: int
    sent_hi: int
    radius: int
    layer: tuple[int, int] = (0, 0)

    @classmethod
    def whole(cls, planes: int, radius: int) -> Cuts:
        """Return a grid that is not cut; the planes of its layer do not matter then."""
        return cls(planes, 0, planes, 0, 0, radius)

    def near_layer(self, first: int, last: int) -> bool:
        """Return whether one of the planes [first, last) lies in the PML of x."""
        return first < self.layer[0] or last > self.planes - self.layer[1]


@dataclass(frozen=True)
class Pass:
    """The pieces of a pass; see the head of this file.

    Parameters
    ----------
    stages : tuple
        By stage: the pieces of the shells, at the lower and at the upper cut; of each the planes by step, the first of
        which is step number ``stage``.
    core : tuple of Planes
        Planes of the core, by step; empty when the shells are all.
    ahead : tuple of Planes
        By step: what tiles that go ahead do; they and `wedge` together do what the core does.
    ahead_to : int
        Plane of the first step up to which tiles may go ahead of the shells.
    wedge : tuple of Planes
        Planes of the wedge, by step; empty when there is no lower cut.
    """

    stages: tuple[tuple[tuple[Planes, ...], ...], ...]
    core: tuple[Planes, ...]
    ahead: tuple[Planes, ...] = ()
    ahead_to: int = 0
    wedge: tuple[Planes, ...] = ()


@cache
def pass_of(cuts: Cuts, steps: int) -> Pass | None:
    """Return a pass of `steps` steps; None when the slab is too thin for it, which a pass of one step never is."""
    m, a, b = cuts.radius, cuts.lo, cuts.hi
    below, above = cuts.sent_lo > 0, cuts.sent_hi > 0
    # the planes whose Psi one piece advances and another reads: at the lower cut up to M beyond the last x_k
    slope_lo = 2 * m if below and cuts.near_layer(a - m, a + cuts.sent_lo + 4 * m * steps) else m
    slope_hi = 2 * m if above and cuts.near_layer(b - cuts.sent_hi - 2 * m * steps, b + m) else m
    count = range(1, steps + 1)
    low = [a + cuts.sent_lo + (steps - k) * slope_lo if below else a for k in count]
    high = [b - cuts.sent_hi - (steps - k) * slope_hi if above else b for k in count]

    def planes(first: int, last: int, psi_first: int, psi_last: int) -> Planes:
        return first, last, max(psi_first, 0), min(psi_last, cuts.planes)

    if high[0] - low[0] < 2 * m:
        whole = planes(a, b, a - m if below else 0, b + m if above else cuts.planes)
        return None if steps > 1 else Pass((((whole,),),), ())
    stages = []
    for stage in range(steps):
        pieces: list[tuple[Planes, ...]] = []
        if below:
            at = _stage(stage, [f - a for f in low], slope_lo, m)
            pieces.append(tuple(planes(a + o, a + i, a + o - m, a + psi) for o, i, psi in at))
        if above:
            at = _stage(stage, [b - h for h in high], slope_hi, m)
            pieces.append(tuple(planes(b - i, b - o, b - psi, b - o + m) for o, i, psi in at))
        stages.append(tuple(pieces))
    core, ahead, wedge = [], [], []
    start = low[0] + (2 * m if slope_lo > m else 0)
    for k, (f, h) in enumerate(zip(low, high, strict=True)):
        psi_first, psi_last = (f + m if below else 0), (h - m if above else cuts.planes)
        core.append(planes(f, h, psi_first, psi_last))
        x = start + k * slope_lo if below else f
        ahead.append(planes(x, h, x - m if below else 0, psi_last))
        if below:
            wedge.append(planes(f, x, psi_first, x - m))
    # what the sweep reads while it goes ahead, up to 3 M planes and one more, no shell may write
    ahead_to = high[0] - 3 * m - 2 if above else high[0]
    if below and start + steps * slope_lo > ahead_to:
        ahead_to = 0
    return Pass(tuple(stages), tuple(core), tuple(ahead), ahead_to, tuple(wedge))


def _stage(stage: int, thick: list[int], slope: int, m: int) -> list[tuple[int, int, int]]:
    """Return a stage of the shells at one cut, as distances from it, by step from number `stage` on.

    Parameters
    ----------
    thick : list of int
        Planes of the shells by step.

    Returns
    -------
    list of tuple
        Nearest plane, farthest plane, and how far Psi is advanced.
    """
    out = []
    for k in range(stage, len(thick)):
        near, far = (k - stage) * slope, thick[k]
        done = (k - stage + 1) * slope  # what earlier stages have left
        if near >= far:
            break
        first = stage == 0 or done >= far
        out.append((near, far, far + m) if first else (near, done, done - m))
    return out


def depth_for(cuts: Cuts, deepest: int, threads: int = 1) -> int:
    """Return the steps of a pass that take least time: a deep core is fast, and its shells are thick.

    Parameters
    ----------
    cuts : Cuts
        The slab.
    deepest : int
        Steps that a pass may have.
    threads : int
        That share the steps of the core, as they do in 2-D; 1 where they share rows, in any pass alike.
    """

    def cost(steps: int) -> float:
        """Return the time of a step of the thread that does most of them."""
        made = pass_of(cuts, steps)
        if made is None:
            return float("inf")
        staged = sum(p[1] - p[0] for pieces in made.stages[1:] for piece in pieces for p in piece) / steps
        busiest = -(-steps // threads) / steps  # its share of the steps
        return staged * STAGED + (cuts.hi - cuts.lo - staged) * PACE[steps] * busiest

    return min(range(1, deepest + 1), key=cost)
