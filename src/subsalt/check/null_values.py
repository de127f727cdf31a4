"""Null values in models: impossible or known values, apart from all others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.check.context import Context, error, rule
from subsalt.earth.planes import Parameter, first_index, slabs
from subsalt.errors import Finding

#: values of each parameter beyond which no medium lies
LIMITS = {"vp": (0.0, 12_000.0), "epsilon": (-1.0, 100.0), "delta": (-1.0, 100.0)}


#: what programs write where they know nothing
NULLS = (
    -9999.25,
    -9999.0,
    -999.25,
    -999.0,
    -99999.0,
    -1.0,
    0.0,
    999.0,
    999.25,
    9999.0,
    9999.25,
    99999.0,
    32767.0,
)


#: factor by which null values lie above all others
APART = 1.25


@rule("null_values", "parameters")
def null_values(context: Context) -> Iterator[Finding]:
    """Null values in a model: impossible values, or known ones, apart from all others."""
    for name, (lowest, highest) in LIMITS.items():
        p = context.parameters.get(name)
        if (
            p is None
            or p.summary.bad
            or (p.summary.low > lowest and p.summary.high < highest and name != "vp")
        ):
            continue
        findings = list(_nulls(p, lowest, highest))
        if findings:
            context.facts[f"_null_{name}"] = True
        yield from findings


def _nulls(p: Parameter, lowest: float, highest: float) -> Iterator[Finding]:
    low, high = p.summary.low, p.summary.high
    for value in {low, high}:
        known = any(abs(value - n) <= 1e-6 * abs(n) for n in NULLS if n)
        beyond = value > highest or value < lowest
        if not (beyond or known) or low == high:
            continue
        count, first, rest, edge = 0, None, (np.inf, -np.inf), np.inf
        for start, part in slabs(p.volume):
            at = part > highest if value > highest else part < lowest if value < lowest else part == value
            count += int(np.count_nonzero(at))
            first = first_index(at, start) if first is None and at.any() else first
            edge = min(edge, float(np.min(np.abs(part), where=at, initial=np.inf)))
            rest = (
                min(rest[0], float(np.min(part, where=~at, initial=np.inf))),
                max(rest[1], float(np.max(part, where=~at, initial=-np.inf))),
            )
        # most of the volume is no gap in it but another unit, say; what rises up to there is none either
        if not count or count > 0.8 * p.summary.size or (value > 0 and edge < APART * max(map(abs, rest))):
            continue
        yield error(
            "E428",
            f"{p.name} is {value:.6g} at {count} of {p.summary.size} nodes, the first at index {first}, and "
            f"{rest[0]:.4g} to {rest[1]:.4g} elsewhere: a null value",
            f"fill these nodes of {p.source or p.name} with values of their neighbours",
            value=value,
            count=count,
            first=first,
        )
