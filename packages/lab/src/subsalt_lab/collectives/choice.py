"""Algorithms of collective operations, and the choices among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: operations that can be tuned; a size is that of the bytes that one rank gives to one call: of its whole vector for
#: allreduce, reduce and bcast, of its own part for allgather, of the part for one other rank for alltoall
COLLECTIVES = ("allreduce", "reduce", "bcast", "allgather", "alltoall", "barrier")
#: name of what the library does by itself
DEFAULT = "default"


@dataclass(frozen=True)
class Algorithm:
    """One way of the MPI in use to do a collective operation.

    Parameters
    ----------
    collective : str
        One of `COLLECTIVES`.
    name : str
        As the library calls it, such as ``"ring"``.
    number : int
        As its control variable counts it.
    settings : mapping of str to str
        Control variables that choose it, by name, with values as the environment takes them. Empty: what the library
        does by itself.
    """

    collective: str
    name: str
    number: int
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_default(self) -> bool:
        """Whether this is what the library does by itself."""
        return not self.settings

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "collective": self.collective,
            "name": self.name,
            "number": self.number,
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Algorithm:
        """Return what `to_dict` gave."""
        return cls(plain["collective"], plain["name"], plain["number"], dict(plain["settings"]))


@dataclass(frozen=True)
class AlgorithmChoice:
    """One switch that the measurements carry: use this algorithm for these ranks and sizes.

    Parameters
    ----------
    collective : str
        One of `COLLECTIVES`.
    comm_size : int
        Ranks of the communicator.
    bytes_from : int
        Smallest size it holds for, bytes, inclusive (what a size counts: `COLLECTIVES`).
    bytes_below : int or None
        End of the sizes, exclusive; None: no end (a barrier, which has no size). Nothing is said of sizes that were not
        measured: this is at most the largest measured size + 1.
    algorithm : Algorithm
        Algorithm to use there.
    default_us, chosen_us : float
        Median time of a call before and after, microseconds; geometric means when several sizes were measured.
    ratio_low, ratio_high : float
        Confidence interval of before / after; the widest of the sizes.
    """

    collective: str
    comm_size: int
    bytes_from: int
    bytes_below: int | None
    algorithm: Algorithm
    default_us: float
    chosen_us: float
    ratio_low: float
    ratio_high: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "collective": self.collective,
            "comm_size": self.comm_size,
            "bytes_from": self.bytes_from,
            "bytes_below": self.bytes_below,
            "algorithm": self.algorithm.to_dict(),
            "default_us": self.default_us,
            "chosen_us": self.chosen_us,
            "ratio_low": self.ratio_low,
            "ratio_high": self.ratio_high,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> AlgorithmChoice:
        """Return what `to_dict` gave."""
        return cls(**{**plain, "algorithm": Algorithm.from_dict(plain["algorithm"])})
