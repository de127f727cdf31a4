"""The symmetry axis: unit and range of its angles, and whether anything depends on it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, error, rule, warning
from subsalt.earth.planes import Parameter, VolumeSummary, first_index, slabs
from subsalt.errors import Finding

#: largest angle in use, degrees: null values are larger
WIDEST = {"theta": 180.0, "phi": 360.0}

#: share of the nodes that may hold null values among angles of another unit
FEW = 1e-3

#: degrees that a float32 of pi or 2 pi radians may lie above a half or a whole turn
ROUNDING = 5e-5


#: degrees by which an azimuth of a 2-D model may miss its plane: what rounding to 16 bits leaves
IN_PLANE = 0.01


def looks_like_radians(name: str, summary: VolumeSummary) -> bool:
    """Return whether angles that are taken as degrees have the range of radians (a quarter turn, for phi a whole)."""
    size = max(abs(summary.low), abs(summary.high))
    limit = math.pi / 2 if name == "theta" else 2 * math.pi
    return 0 < size <= 1.001 * limit


def _within_half_turn(summary: VolumeSummary) -> bool:
    """Return whether angles of both signs, or from 0, reach less than half a turn in radians, and do vary."""
    return summary.low != summary.high and max(abs(summary.low), abs(summary.high)) <= 1.001 * math.pi


def _few_beyond(parameter: Parameter) -> tuple[int, tuple[int, ...], float] | None:
    """Return number and first index of few angles apart from all others, which lie within a quarter turn in radians.

    None where they are no few, not twice the others, or the others are too small to be tilts in radians (3 degrees).
    """
    count, first, rest, least = 0, None, 0.0, math.inf
    for start, part in slabs(parameter.volume):
        size = np.abs(part)
        over = size > 1.001 * math.pi / 2
        count += int(np.count_nonzero(over))
        if first is None and over.any():
            first = first_index(over, start)
        rest = max(rest, float(np.max(size, where=~over, initial=0.0)))
        least = min(least, float(np.min(size, where=over, initial=math.inf)))
    few = first is not None and count <= FEW * parameter.summary.size
    return (
        (count, first, rest)
        if few and first is not None and rest > math.radians(3) and least > 2 * rest
        else None
    )


def _share_beyond(parameter: Parameter) -> float:
    """Return the share of nodes with an impossible angle: a few are null values, many another unit."""
    count = sum(int(np.count_nonzero(np.abs(a) > WIDEST[parameter.name])) for _, a in slabs(parameter.volume))
    return count / parameter.summary.size


def impossible(parameter: Parameter) -> bool:
    """Return whether a parameter is an angle beyond any that is ever written."""
    s = parameter.summary
    return parameter.name in WIDEST and max(abs(s.low), abs(s.high)) > WIDEST[parameter.name] + ROUNDING


def _cure(parameter: Parameter, unit: str) -> str:
    if parameter.grid is not None:
        return f"[model] {parameter.table(unit=unit)}"
    sample = 30 if unit == "degrees" else 0.5
    return f'write the values of [model] {parameter.name} with their unit, as in "{sample} {unit}"'


@rule("tilt", "parameters")
def angle_unit(context: Context) -> Iterator[Finding]:
    """Angles in radians taken as degrees, degrees declared as radians, and what is no angle at all."""
    for name in WIDEST:
        p = context.parameters.get(name)
        if p is None or p.summary.bad:
            continue
        radians = (p.unit or "").lower().startswith("rad")
        low, high = p.summary.low, p.summary.high
        span = (
            f"{name} is {low:.4g} degrees"
            if low == high
            else f"{name} runs from {low:.4g} to {high:.4g} degrees"
        )
        if impossible(p) and radians and _share_beyond(p) > 0.01:
            raw = f"{math.radians(low):.4g} to {math.radians(high):.4g}"
            yield error(
                "E423",
                f'{name} runs from {raw} with unit = "{p.unit}": looks like degrees',
                _cure(p, "degrees"),
                min=low,
                max=high,
            )
        elif impossible(p):
            yield error(
                "E424",
                f"{span}: no tilt or azimuth goes beyond {WIDEST[name]:g}; a null value?",
                f"replace such values in {p.source or name}; where nothing tilts, theta is 0",
                min=low,
                max=high,
            )
        elif looks_like_radians(name, p.summary) and not radians:
            for finding in _perhaps_radians(p, span):
                context.facts["_radians"] = context.facts.get("_radians") or finding.code == "E421"
                yield finding
        elif name == "theta" and p.unit is None and p.grid is not None and _within_half_turn(p.summary):
            yield warning(
                "W422",
                f"{span}: radians would look so, where a few exceed a quarter turn",
                f'if they are: {_cure(p, "radians")}; if these are degrees, say so: unit = "degrees"',
                min=low,
                max=high,
            )
        elif name == "theta" and p.unit is None and p.grid is not None and (odd := _few_beyond(p)):
            count, first, rest = odd
            yield warning(
                "W422",
                f"{span}, but within {rest:.3g} at all but {count} of {p.summary.size} nodes, the first at index "
                f"{first}: radians with null values would look so",
                f"replace the values at these nodes of {p.source or name}; and if all others are radians: "
                f"{_cure(p, 'radians')}",
                count=count,
                first=first,
            )


def _perhaps_radians(p: Parameter, span: str) -> Iterator[Finding]:
    """Yield the finding on degrees that look like radians: a tilt in a file of no declared unit is refused."""
    said = {"min": p.summary.low, "max": p.summary.high}
    if p.name == "theta" and p.grid is not None and p.unit is None:
        yield error(
            "E421",
            f"{span}: looks like radians",
            f'{_cure(p, "radians")}; if these are degrees, say so: unit = "degrees"',
            **said,
        )
    elif p.name == "theta" or (p.grid is not None and p.unit is None):
        # an azimuth of few degrees, the same everywhere, is nothing odd; a field of them without a unit is
        yield warning("W422", f"{span}: radians would look so", f"if they are: {_cure(p, 'radians')}", **said)


@rule("tilt", "parameters")
def angle_range(context: Context) -> Iterator[Finding]:
    """Angles outside the usual range, which stand for the same axes as others inside it."""
    theta = context.parameters.get("theta")
    if theta is None or theta.summary.bad or impossible(theta):
        return
    lowest = -90.0 if _ndim(context) == 2 else 0.0
    slack = 1e-3
    outside = 0
    for _, part in slabs(theta.volume):
        outside += int(np.count_nonzero((part < lowest - slack) | (part > 90.0 + slack)))
    if outside:
        low, high = theta.summary.low, theta.summary.high
        values = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        where = f" at {outside} of {theta.summary.size} nodes" if theta.grid is not None else ""
        yield warning(
            "W425",
            f"theta is outside {lowest:g} to 90 degrees{where}: {values}",
            "nothing, if they are meant: an axis has no arrow, and each is turned to the same axis inside; else "
            f"check sign and null values in {theta.source or 'theta'}",
            count=outside,
        )


def _ndim(context: Context) -> int:
    """Return 2 or 3: of the model, or while there is none of the first volume of a file."""
    grids = [context.model.grid] if context.model is not None else []
    grids += [p.grid for p in context.parameters.values() if p.grid is not None]
    return grids[0].ndim if grids else 2


@rule("tilt", "parameters")
def tilt_without_effect(context: Context) -> Iterator[Finding]:
    """A tilt that nothing depends on, a missing one, and an azimuth without tilt."""
    given, medium = context.parameters, context.propagation.medium
    theta = given.get("theta")
    if medium == "tti" and theta is None:
        yield error(
            "E540",
            'medium = "tti", but [model] has no theta',
            'give theta, or leave medium out (0 everywhere is medium = "vti")',
        )
    if theta is None:
        if "phi" in given:
            yield warning(
                "W538", "phi is given without theta: an upright axis has no azimuth", "give [model] theta too"
            )
        return
    if medium in ("isotropic", "vti"):
        yield warning(
            "W541",
            f'medium = "{medium}" ignores {"theta and phi" if "phi" in given else "theta"}',
            'leave medium out, or set it to "tti"',
        )
    elif all(n not in given or _is_zero(given[n]) for n in ("epsilon", "delta")):
        yield warning(
            "W537",
            f"theta reaches {max(abs(theta.summary.low), abs(theta.summary.high)):.3g} degrees, but epsilon and "
            "delta are zero: waves do not feel the axis",
            "give [model] epsilon and delta, or leave theta out",
        )


def _is_zero(parameter: Parameter) -> bool:
    return parameter.summary.low == parameter.summary.high == 0.0


@rule("tilt", "parameters")
def azimuth_of_a_section(context: Context) -> Iterator[Finding]:
    """An azimuth in 2-D that does not lie in the section."""
    phi = context.parameters.get("phi")
    if phi is None or phi.summary.bad or _ndim(context) == 3 or "theta" not in context.parameters:
        return
    off = max(float(_off_plane(part.astype(np.float64)).max()) for _, part in slabs(phi.volume))
    if off > IN_PLANE:
        yield error(
            "E526",
            f"phi is up to {off:.3g} degrees off the plane of the 2-D model; there it is 0 (towards +x) or 180",
            "give the tilt as it appears in the section, with its sign, and leave phi out",
            off=off,
        )


def _off_plane(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far azimuths are from 0 or 180 degrees."""
    return np.asarray(np.abs(degrees - 180.0 * np.round(degrees / 180.0)))
