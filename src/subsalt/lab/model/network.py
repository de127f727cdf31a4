"""What a message takes: t = a + s / B, as `subsalt lab network` fitted it, or as somebody said."""

from __future__ import annotations

import re
from dataclasses import dataclass

from subsalt.errors import ConfigError
from subsalt.lab.machine import Machine

#: how to get it
HOW = "subsalt lab network"
#: latency that goes with a rate that somebody gave, s: that of a cluster's network, not of one made of plain Ethernet
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
    """

    latency: float
    rate: float
    where: str
    source: str
    noisy: bool = False

    def seconds(self, size: float, messages: int = 1) -> float:
        """Return the seconds of some messages one after the other, `size` bytes in all."""
        return messages * self.latency + size / self.rate

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
            a, rate = row.get("a_s"), row.get("bytes_per_s")
            if isinstance(a, int | float) and isinstance(rate, int | float) and rate > 0:
                # a fit through noise may start below zero
                day = str(row.get("date", ""))[:10]
                return Link(
                    max(0.0, a), float(rate), place, f"measured {day}".strip(), bool(row.get("noisy"))
                )
    return None


def given(text: str, option: str = "--network") -> Link:
    """Return the link between nodes that somebody gives as a rate, such as ``12.5`` (GB/s) or ``"100 Gbit/s"``.

    A latency may stand behind a comma, in microseconds: ``"20 GB/s, 2 us"``.

    Raises
    ------
    ConfigError
        When it is no rate (E970).
    """
    number = r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)"
    found = re.fullmatch(rf"\s*{number}\s*([a-zA-Z]+/s)?\s*(?:,\s*{number}\s*us\s*)?", text)
    units = {name.lower(): factor for name, factor in UNITS.items()}
    unit = units.get((found[2] or "GB/s").lower()) if found else None
    if found is None or unit is None or float(found[1]) <= 0:
        raise ConfigError(
            f"{option} {text!r} is no rate",
            f"write 12.5 or 100Gbit/s (units: {', '.join(UNITS)}), with a latency 20GB/s,2us",
            code="E970",
        )
    latency = GIVEN_LATENCY if found[3] is None else 1e-6 * float(found[3])
    return Link(latency, float(found[1]) * unit, "across", "given")
