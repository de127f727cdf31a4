"""Sources and receivers of prestack traces: from coordinates, or around CDPs or bins from their offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import GeometryError
from subsalt.io.cdp_line import BinGeometry, LineGeometry, around
from subsalt.io.headers import HeaderBytes

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
    notes["offsets"] = facts
