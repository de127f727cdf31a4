"""Time of a message: t = a + s / B, as `subsalt lab network` fitted it, or as the user gave it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from subsalt.errors import ConfigError
from subsalt.machine.machine_file import Machine

#: how to get it
HOW = "subsalt lab network"
#: latency that is assumed with a rate that the user gave, s: that of a cluster's network, not of plain Ethernet
GIVEN_LATENCY = 2e-6
#: places in the order in which one stands for another: ranks of a socket are no slower than those of a node
NEARER = {"socket": ("socket", "node"), "node": ("node", "socket"), "across": ("across",)}
#: units of a given rate, bytes per second
UNITS = {"GB/s": 1e9, "MB/s": 1e6, "Gbit/s": 1.25e8, "Mbit/s": 1.25e5}


@dataclass(frozen=True)
class Link:
    """Messages between two ranks.

    Parameters
    ----------
    latency : float
        Seconds of an empty message, a.
    rate : float
        Bytes per second of a long one, B.
    where : str
        ``"socket"``, ``"node"`` or ``"across"`` (nodes).
    source : str
        ``"measured"`` with its date, or ``"given"``.
    noisy : bool
        The measurement was disturbed.
    points : tuple of (float, float)
        Bytes and seconds of messages that were measured one by one, ascending: the line misses some of them, between
        ranks of a node by much.
    """

    latency: float
    rate: float
    where: str
    source: str
    noisy: bool = False
    points: tuple[tuple[float, float], ...] = ()

    def seconds(self, size: float, messages: int = 1) -> float:
        """Return the seconds of some messages of one size after the other, `size` bytes in all."""
        if messages < 1 or not self.points:
            return messages * self.latency + size / self.rate
        return messages * self._of_one(size / messages)

    def _of_one(self, size: float) -> float:
        """Return the seconds of a message: between those measured, beyond the largest at its rate."""
        below = [p for p in self.points if p[0] <= size]
        above = next((p for p in self.points if p[0] > size), None)
        if not below:
            return self.points[0][1]
        nbytes, seconds = below[-1]
        if above is None:
            return seconds * size / nbytes if nbytes else seconds + size / self.rate
        return seconds + (size - nbytes) / (above[0] - nbytes) * (above[1] - seconds)

    def text(self) -> str:
        """Return it in words."""
        place = {"socket": "on a socket", "node": "on a node", "across": "between nodes"}[self.where]
        noisy = ", marked noisy" if self.noisy else ""
        return (
            f"a message of s bytes {place} takes {1e6 * self.latency:.3g} us + s / {self.rate / 1e9:.3g} GB/s "
            f"({self.source}{noisy})"
        )


def link_of(machine: Machine | None, where: str) -> Link | None:
    """Return what was measured of messages at a place, None when nothing was.

    Parameters
    ----------
    machine : Machine, optional
        With the section ``network``: rows ``what = "point_to_point"`` with ``a_s`` and ``bytes_per_s``.
    where : {"socket", "node", "across"}
        Who talks to whom; of socket and node the other stands for the one that was not measured.
    """
    if machine is None:
        return None
    for place in NEARER[where]:
        for row in machine.find("network", what="point_to_point", where=place):
            if row.get("ranks", 2) != 2:
                continue  # several pairs at once share the way
            a, rate = row.get("a_s"), row.get("bytes_per_s")
            if isinstance(a, int | float) and isinstance(rate, int | float) and rate > 0:
                # a fit through noise may start below zero
                day = str(row.get("date", ""))[:10]
                source, noisy = f"measured {day}".strip(), bool(row.get("noisy"))
                return Link(max(0.0, a), float(rate), place, source, noisy, _points(machine, row))
    return None


def _points(machine: Machine, line: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    """Return bytes and seconds of the messages that a line was drawn through."""
    rows = machine.find("network", what="latency", where=line["where"], mpi=line.get("mpi"))
    seconds = {
        float(r["bytes"]): float(r["value"])
        for r in reversed(rows)  # the best come first, and stay
        if r.get("ranks", 2) == 2 and r.get("value") and isinstance(r.get("bytes"), int)
    }
    return tuple(sorted(seconds.items()))


def given(text: str, option: str = "--network") -> Link:
    """Return the link between nodes that the user gives as a rate, such as ``12.5`` (GB/s) or ``"100 Gbit/s"``.

    A latency may stand behind a comma, in microseconds: ``"20 GB/s, 2 us"``.

    Raises
    ------
    ConfigError
        When it is no rate (E970).
    """
    number = r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)"
    match = re.fullmatch(rf"\s*{number}\s*([a-zA-Z]+/s)?\s*(?:,\s*{number}\s*us\s*)?", text)
    units = {name.lower(): factor for name, factor in UNITS.items()}
    unit = units.get((match[2] or "GB/s").lower()) if match else None
    if match is None or unit is None or float(match[1]) <= 0:
        raise ConfigError(
            f"{option} {text!r} is no rate",
            f"write 12.5 or 100Gbit/s (units: {', '.join(UNITS)}), with a latency 20GB/s,2us",
            code="E970",
        )
    latency = GIVEN_LATENCY if match[3] is None else 1e-6 * float(match[3])
    return Link(latency, float(match[1]) * unit, "across", "given")
