"""The predicted seconds of a run by phase: a model from measured rates, never a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from subsalt.errors import SubsaltError
from subsalt.machine.machine_file import Machine
from subsalt.plan.rates import machine_for_run


@dataclass(frozen=True)
class Writes:
    """Files that a run writes at the end: bytes by kind (`plan.disk`), and whether pictures are drawn."""

    files: Mapping[str, int] = field(default_factory=dict)
    pictures: bool = False


@dataclass(frozen=True)
class StepSeconds:
    """Seconds of the time steps of a survey, where wavefields are propagated.

    Parameters
    ----------
    seconds, shot_seconds : float or None
        Seconds of the whole survey, and of the largest shot; None when no rate is known.
    point_steps : int
        Grid points times time steps of all wavefields, those that a wave has not reached included.
    shot_phases : dict of str to float
        Seconds by phase of the largest shot.
    halo : float or None
        Seconds of the run's phases of waiting for ghost planes; None where the network is not known.
    """

    seconds: float | None
    shot_seconds: float | None
    point_steps: int
    shot_phases: dict[str, float] = field(default_factory=dict)
    halo: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kernel_seconds": self.seconds,
            "largest_shot_seconds": self.shot_seconds,
            "point_steps": self.point_steps,
            "largest_shot_phases": self.shot_phases,
            "halo_seconds": self.halo,
        }


@dataclass(frozen=True)
class Prediction:
    """Seconds of a run.

    Parameters
    ----------
    phases : dict of str to float
        Seconds by phase of the busiest rank, named as the run names them; empty when no rate is known.
    notes : list of str
        Assumptions, or reasons why there is no figure.
    rate : float or None
        Points, or contributions, per second of a node that the figures rest on.
    measured : str
        When that was measured.
    rate_of : {"points", "contributions"}
        Unit of the rate.
    steps : StepSeconds or None
        Time steps of wavefields; None where there are none.
    """

    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rate: float | None = None
    measured: str = ""
    rate_of: str = "points"
    steps: StepSeconds | None = None

    @property
    def wall(self) -> float | None:
        """Seconds of the whole run, from its start to its report; None when no rate is known."""
        return sum(self.phases.values()) if self.phases else None

    @property
    def halo(self) -> float | None:
        """Seconds in `phases` of waiting for ghost planes; None where the network is not known."""
        return 0.0 if self.steps is None else self.steps.halo

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": "model",
            **({} if self.steps is None else self.steps.to_dict()),
            "phases": self.phases,
            "wall_seconds": self.wall,
            f"{self.rate_of}_per_s": self.rate,
            "measured": self.measured,
            "notes": self.notes,
        }

    def for_run(self) -> dict[str, Any]:
        """Return the record that a run keeps of it, to be compared with the real seconds.

        Returns
        -------
        dict
            ``phases``, empty where nothing was measured; ``halo_seconds`` of waiting for ghost planes in them, None
            where the network is not known; ``points_per_s`` or ``contributions_per_s``, and ``measured``: the rate of a
            node and when it was measured; ``notes``.
        """
        return {
            "phases": self.phases,
            "halo_seconds": self.halo,
            f"{self.rate_of}_per_s": self.rate,
            "measured": self.measured,
            "notes": self.notes,
        }


def predicted_for_run(predict: Callable[[Machine | str], Prediction]) -> dict[str, Any]:
    """Return what a run keeps of its prediction (`Prediction.for_run`), or why there is none.

    Parameters
    ----------
    predict : callable
        Predicts with the rates of this machine, or with the reason why there are none.
    """
    try:
        machine, why_not = machine_for_run()
        return predict(machine or why_not).for_run()
    except SubsaltError as error:
        # a prediction is no reason not to run
        return {"phases": {}, "notes": [error.message]}
