"""Seconds in the kernels, from the rates that `subsalt lab kernels` measured on a machine; a model, never a result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Duration:
    """What the kernels of a survey take.

    Parameters
    ----------
    seconds : float or None
        Of the whole survey; None when no rate is known.
    shot_seconds : float or None
        Of the largest shot.
    point_steps : int
        Grid points times time steps of all wavefields, those that a wave has not reached included.
    notes : list of str
        What is assumed, or why there is no figure.
    shot_phases, phases : dict of str to float
        Seconds by phase, of the largest shot and of the whole run.
    halo : float or None
        Seconds in `phases` of waiting for ghost planes; None where the network is not known.
    rate : float or None
        Points per second of a node that the figures rest on.
    measured : str
        When that was measured.
    """

    seconds: float | None
    shot_seconds: float | None
    point_steps: int
    notes: list[str]
    shot_phases: dict[str, float] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    halo: float | None = None
    rate: float | None = None
    measured: str = ""

    @property
    def wall(self) -> float | None:
        """Seconds of the whole run, from its start to its report; None when no rate is known."""
        return sum(self.phases.values()) if self.phases else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": "model",
            "kernel_seconds": self.seconds,
            "largest_shot_seconds": self.shot_seconds,
            "point_steps": self.point_steps,
            "notes": self.notes,
            "largest_shot_phases": self.shot_phases,
            "phases": self.phases,
            "wall_seconds": self.wall,
            "halo_seconds": self.halo,
            "points_per_s": self.rate,
            "measured": self.measured,
        }
