"""Sources and receivers of prestack traces: from coordinates, or around CDPs or bins from their offsets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError, GeometryError
from subsalt.io.segy.headers import HeaderBytes
from subsalt.numerics import fixedmath

#: m plus share of the offset by which offsets of headers and of coordinates may differ: both are rounded to metres
OFFSET_SLACK = (1.5, 0.01)


def place(
    columns: dict[str, NDArray[Any]],
    header: HeaderBytes,
    without: LineGeometry | BinGeometry | None,
    notes: dict[str, Any],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sources and receivers, (n, 2) each, and note where they are from.

    Parameters
    ----------
    columns : dict of ndarray
        ``src``, ``rcv``, ``said`` (signed offsets of the headers, m), ``cdp``, and where they are known ``bin_x`` and
        ``bin_y`` of all traces.
    header : HeaderBytes
        For the words of a message.
    without : LineGeometry, BinGeometry or None
        How traces are placed that have no coordinates, when the job says it.
    notes : dict
        Gets ``positions`` and ``offsets``.

    Raises
    ------
    GeometryError
        When positions are missing.
    """
    src, rcv, said, cdp = (columns[name] for name in ("src", "rcv", "said", "cdp"))
    has_src, has_rcv = bool(src.any()), bool(rcv.any())
    if isinstance(without, LineGeometry):
        _refuse_without_numbers(said, cdp, header, without)
        notes["positions"] = {
            "from": "CDP numbers",
            "spacing_m": without.spacing,
            "first_cdp": without.first_cdp,
            "coordinates_ignored": has_src or has_rcv,
        }
        return without.ends(cdp, said)
    if without is not None:
        middle = _bins(columns, header)
        notes["positions"] = {
            "from": "bins",
            "azimuth_deg": without.azimuth,
            "coordinates_ignored": has_src or has_rcv,
        }
        return around(middle, said, without.azimuth)
    cure = _cure(columns, header)
    if not has_src and not has_rcv:
        raise GeometryError(
            f"source and receiver coordinates (bytes {header.source_x}, {header.source_y}, {header.receiver_x}, "
            f"{header.receiver_y}) are all zero in {len(said)} traces; {_what_is_known(said, cdp)}",
            cure,
            code="E722",
        )
    if not has_rcv:
        raise GeometryError(
            f"receiver coordinates (bytes {header.receiver_x}, {header.receiver_y}) are all zero; "
            f"{_what_is_known(said, cdp)}",
            f"say where they are: [data.bytes] receiver_x = ...; {cure}",
            code="E322",
        )
    notes["positions"] = {"from": "coordinates"}
    _compare(src, rcv, said, columns["number"], notes)
    # a source at the origin is possible; then the offsets agree with the receivers' distances
    if not has_src and len(src) > 1 and notes["offsets"].get("disagree"):
        raise GeometryError(
            f"source coordinates (bytes {header.source_x}, {header.source_y}) are all zero and the offsets "
            f"(byte {header.offset}) contradict that",
            f"say where they are: [data.bytes] source_x = ...; {cure}",
            code="E323",
        )
    return src, rcv


def _what_is_known(said: NDArray[np.float64], cdp: NDArray[np.int32]) -> str:
    """Return CDPs and offsets in words."""
    cdps = f"CDP numbers run from {cdp.min()} to {cdp.max()}" if cdp.any() else "CDP numbers are all zero"
    offsets = f"offsets from {said.min():g} to {said.max():g} m" if said.any() else "offsets are all zero"
    return f"{cdps}, {offsets}"


def _bins(columns: dict[str, NDArray[Any]], header: HeaderBytes) -> NDArray[np.float64]:
    """Return the positions of the bins, (n, 2), or say that there are none."""
    if "bin_x" not in columns and "bin_y" not in columns:
        raise GeometryError(
            f"[data] bins places traces at the positions of their bins, which are all zero (bytes {header.cdp_x}, "
            f"{header.cdp_y})",
            "say where they are: [data.bytes] cdp_x = ..., cdp_y = ...",
            code="E726",
        )
    zero = np.zeros(len(columns["said"]))
    return np.stack([columns.get("bin_x", zero), columns.get("bin_y", zero)], axis=1)


def _cure(columns: dict[str, NDArray[Any]], header: HeaderBytes) -> str:
    """Return what traces without coordinates need, with the numbers of these data."""
    said, cdp = columns["said"], columns["cdp"]
    if said.any() and ("bin_x" in columns or "bin_y" in columns):
        return (
            f"their bins have positions (bytes {header.cdp_x}, {header.cdp_y}): [data] bins = {{azimuth = 90}} takes "
            "these as midpoints, with the direction from source to receiver, degrees clockwise from north"
        )
    if said.any() and cdp.any():
        return (
            f'for a 2-D line: [data] cdp_line = {{spacing = "25 m", first_cdp = {cdp.min()}}}, '
            "with the distance of your CDPs"
        )
    return "say where coordinates, CDP numbers and offsets lie: [data.bytes] source_x, cdp, offset = ..."


def _refuse_without_numbers(
    said: NDArray[np.float64], cdp: NDArray[np.int32], header: HeaderBytes, line: LineGeometry
) -> None:
    """Refuse a line whose traces say neither their CDP nor their offset."""
    if len(cdp) > 1 and int(cdp.min()) == int(cdp.max()) and not cdp.any():
        raise GeometryError(
            f"[data] cdp_line places traces by their CDP numbers, which are all zero (byte {header.cdp})",
            "say where they are: [data.bytes] cdp = ...",
            code="E723",
        )
    if line.offset is None and not said.any():
        raise GeometryError(
            f"[data] cdp_line places sources and receivers by their offsets, which are all zero (byte {header.offset})",
            "say where they are: [data.bytes] offset = ...; for a stacked section: cdp_line offset = 0",
            code="E724",
        )


def _compare(
    src: NDArray[np.float64],
    rcv: NDArray[np.float64],
    said: NDArray[np.float64],
    number: NDArray[np.int64],
    notes: dict[str, Any],
) -> None:
    """Note how the offsets of the headers agree with the coordinates."""
    from subsalt.io.scan.witnesses import constant_bias

    d = rcv - src
    distance = np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2)
    known = np.abs(said)
    wrong = np.abs(known - distance) > OFFSET_SLACK[0] + OFFSET_SLACK[1] * distance
    facts: dict[str, Any] = {"in_headers": bool(said.any()), "disagree": 0}
    if facts["in_headers"] and wrong.any():
        at = int(np.argmax(wrong))
        both = wrong & (known > 0) & (distance > 0)
        ratio = float(np.median(known[both] / distance[both])) if both.any() else float("nan")
        facts |= {
            "disagree": int(wrong.sum()),
            "largest_m": float(known.max()),
            "trace": int(number[at]),
            "header_m": float(said[at]),
            "coordinates_m": float(distance[at]),
            "ratio": ratio,
        }
        bias = constant_bias(known, distance) if wrong.mean() > 0.5 else None
        if bias is not None:
            facts["bias_m"] = bias[0]
    notes["offsets"] = facts


@dataclass(frozen=True)
class LineGeometry:
    """Where the CDPs of a straight line lie.

    Parameters
    ----------
    spacing : float
        Distance from one CDP number to the next, m.
    first_cdp : int
        The CDP that lies at `origin`.
    origin : tuple of float
        Its map position x, y, m.
    azimuth : float
        Direction of growing CDP numbers, degrees clockwise from map y (north); 90 is along map x.
    offset : float, optional
        One signed offset for all traces instead of that of the headers, m; 0 for a stacked section.
    """

    spacing: float
    first_cdp: int
    origin: tuple[float, float] = (0.0, 0.0)
    azimuth: float = 90.0
    offset: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.spacing) and self.spacing > 0):
            raise ConfigError(
                f"the CDPs of a line are {self.spacing!r} m apart",
                "give the distance of neighbouring midpoints, half the group spacing as a rule",
                code="E721",
            )

    @property
    def direction(self) -> tuple[float, float]:
        """Unit vector along the line."""
        return heading(self.azimuth)

    @property
    def per_cdp(self) -> tuple[float, float]:
        """Map vector from one CDP number to the next, m."""
        ux, uy = self.direction
        return self.spacing * ux, self.spacing * uy

    def position(self, cdp: ArrayLike) -> NDArray[np.float64]:
        """Return map positions of CDP numbers, (n, 2), m."""
        steps = np.atleast_1d(np.asarray(cdp, np.float64)) - self.first_cdp
        dx, dy = self.per_cdp
        return np.stack([self.origin[0] + steps * dx, self.origin[1] + steps * dy], axis=1)

    def ends(
        self, cdp: NDArray[np.int32], offset: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return sources and receivers, (n, 2) each: half the signed offset before and behind the midpoint.

        Parameters
        ----------
        cdp : ndarray, (n,), int32
        offset : ndarray, (n,), float64
            Positive: the receiver lies towards larger CDP numbers, m.
        """
        return around(self.position(cdp), offset if self.offset is None else self.offset, self.azimuth)


@dataclass(frozen=True)
class BinGeometry:
    """Traces whose bins have positions, sources and receivers none.

    Parameters
    ----------
    azimuth : float
        Direction of positive offsets, from source to receiver: degrees clockwise from map y (north).
    """

    azimuth: float = 90.0


def heading(azimuth: float) -> tuple[float, float]:
    """Return the unit vector of a direction, degrees clockwise from map y; exact along the map axes."""
    quarter = {0.0: (0.0, 1.0), 90.0: (1.0, 0.0), 180.0: (0.0, -1.0), 270.0: (-1.0, 0.0)}
    turn = azimuth % 360.0
    if turn in quarter:
        return quarter[turn]
    angle = turn * (fixedmath.PI / 180.0)
    return float(fixedmath.sin(angle)), float(fixedmath.cos(angle))


def around(
    middle: NDArray[np.float64], offset: NDArray[np.float64] | float, azimuth: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sources and receivers, (n, 2) each, half the signed offset before and behind midpoints (n, 2)."""
    half = 0.5 * np.broadcast_to(np.asarray(offset, np.float64), len(middle))
    ux, uy = heading(azimuth)
    step = np.stack([half * ux, half * uy], axis=1)
    return middle - step, middle + step
