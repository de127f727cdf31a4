"""The steps of `[[signal]]` in a least-squares migration: which act on modelled traces, too, and their adjoint.

Band-pass, mute, gain and resampling shape the misfit: they act on recorded and modelled traces, and are part of J.
What corrects recorded traces towards those that a model can explain (shifts, the change from 3-D to 2-D spreading, the
source signature) acts on recorded traces alone, before any of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.step import Headers, TraceOperator
from subsalt.job.signal.traces import TreatedReader

if TYPE_CHECKING:
    from subsalt.job.signal.flow import Flow

#: steps that act on modelled traces as on recorded ones, and those that act on recorded ones alone
SHAPES, CORRECTS = ("bandpass", "mute", "gain", "resample"), ("shift", "to2d", "designature")


@dataclass(frozen=True)
class ModelledFlow:
    """The steps that modelled traces go through.

    Parameters
    ----------
    operators : tuple of TraceOperator
        In order.
    record : TimeAxis
        Time axis of modelled traces.
    reader : TreatedReader or None
        Has the headers of traces; None where there are no steps.
    """

    operators: tuple[TraceOperator, ...]
    record: TimeAxis
    reader: TreatedReader | None

    @classmethod
    def of(cls, survey: Survey) -> ModelledFlow:
        """Return those of a survey.

        Raises
        ------
        ConfigError
            E897: a step that has no adjoint, or a correction behind a step that shapes.
        """
        reader = survey.reader
        if not isinstance(reader, TreatedReader):
            return cls((), survey.time, None)
        flow = reader.flow
        shaping = [place for place, kind in enumerate(_kinds(flow)) if kind in SHAPES]
        for place, kind in enumerate(_kinds(flow)):
            name = flow.name(place)
            made = flow.operators[place]
            if kind not in SHAPES + CORRECTS or (kind in SHAPES and made.no_adjoint):
                why = made.no_adjoint or "it looks at samples"
                raise ConfigError(
                    f"{name}: least-squares migration needs its adjoint, and there is none: {why}",
                    "leave it out, or take the traces through it before: subsalt filter",
                    code="E897",
                )
            if kind in CORRECTS and shaping and place > shaping[0]:
                raise ConfigError(
                    f"{name} corrects recorded traces, and {flow.name(shaping[0])} before it acts on modelled ones",
                    "write corrections first: shift, to2d, designature, then bandpass, mute, gain, resample",
                    code="E897",
                )
        operators = tuple(flow.operators[place] for place in shaping)
        return cls(operators, operators[0].time if operators else flow.out, reader)

    @property
    def steps(self) -> list[str]:
        """Words of all steps, those on recorded traces alone included, in order."""
        return [] if self.reader is None else _kinds(self.reader.flow)

    def headers(self, shot: Shot) -> Headers:
        """Return the headers of a shot."""
        assert self.reader is not None
        return self.reader.headers(shot)

    def apply(self, shot: Shot, traces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return modelled traces of a shot after all steps."""
        for operator in self.operators:
            traces = operator.apply(traces, self.headers(shot))
        return traces

    def adjoint(self, shot: Shot, traces: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the transposes of all steps make of traces, in reverse order."""
        for operator in self.operators[::-1]:
            traces = operator.adjoint(traces, self.headers(shot))
        return traces


def _kinds(flow: Flow) -> list[str]:
    """Return the words of the steps."""
    return [str(step.model_dump()["step"]) for step in flow.steps]
