"""The data that rules look at, and the registry of the rules.

Shots in messages: their numbers with the files they are in, and the selection that leaves them out.

All sources and receivers of a survey against the box of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding
from subsalt.io.reading_progress import each
from subsalt.io.segy.exclude import short_names
from subsalt.propagation.options import ImagingOptions, PropagationOptions


@dataclass
class SampledShot:
    """A shot with its traces, (nr, nt), one of a few that are read to be looked at."""

    shot: Shot
    data: NDArray[np.float32]


@dataclass
class Context:
    """All that is known of a job before it runs; what could not be had is None.

    Parameters
    ----------
    parameters : dict of Parameter
        Model parameters by name.
    resampling : bool
        The job gives a grid on which all volumes are interpolated.
    covering : bool
        That grid is made to cover the survey.
    model : ModelLike, optional
        On its grid, smoothed, before the anisotropy gate.
    computed : ModelLike, optional
        The model on the grid on which waves are computed; the same as `model` unless the job asks for another.
    accuracy : float, optional
        Accuracy of waveforms for which that grid was chosen; None where it was not chosen so.
    survey : Survey, optional
        Recorded, on the time axis of the records, or to be modelled.
    record : TimeAxis, optional
        Time axis of the traces that are imaged, after all steps on them; that of the survey when None.
    scan : ScanResult, optional
        Findings and facts of the scan of the files.
    wavelet : Wavelet, optional
        Sampled at the time step.
    propagation, imaging : options
        From the job.
    samples : list of SampledShot
        Traces of a few shots.
    modelling : bool
        The survey is to be modelled, so it has no traces.
    judge_breaks : bool
        First arrivals and moveout are judged.
    facts : dict
        Numbers that rules leave for the output of `subsalt check`.
    """

    parameters: dict[str, Parameter] = field(default_factory=dict)
    resampling: bool = False
    covering: bool = False
    model: ModelLike | None = None
    computed: ModelLike | None = None
    accuracy: float | None = None
    survey: Survey | None = None
    record: TimeAxis | None = None
    scan: Any = None
    wavelet: Wavelet | None = None
    propagation: PropagationOptions = field(default_factory=PropagationOptions)
    imaging: ImagingOptions = field(default_factory=ImagingOptions)
    samples: list[SampledShot] = field(default_factory=list)
    modelling: bool = False
    judge_breaks: bool = True
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def velocity(self) -> ModelLike | None:
        """The model when its velocities can be trusted: else rules would only repeat a wrong unit."""
        return None if self.facts.get("_vp_wrong") else self.model

    def has(self, part: str) -> bool:
        """Return whether a part of the context is there and not empty."""
        if part in ("model", "velocity") and self.facts.get("_grid_wrong"):
            # positions, steps and frequencies against it would only repeat that
            return False
        value = getattr(self, part)
        return value is not None and (not isinstance(value, list | dict) or len(value) > 0)


Check = Callable[[Context], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A check with its subject and the parts of the context it needs."""

    name: str
    subject: str
    needs: tuple[str, ...]
    check: Check


RULES: list[Rule] = []


def rule(subject: str, *needs: str) -> Callable[[Check], Check]:
    """Register a function as a rule of `subject` that needs these parts of the context."""

    def register(check: Check) -> Check:
        RULES.append(Rule(check.__name__.lstrip("_"), subject, needs, check))
        return check

    return register


def run_rules(context: Context, rules: list[Rule]) -> list[Finding]:
    """Return the findings of all rules whose needs are met."""
    out: list[Finding] = []
    for item in each(rules, "rules", "applied"):
        if all(context.has(part) for part in item.needs):
            out += list(item.check(context))
    return out


def error(code: str, message: str, fix: str, **evidence: object) -> Finding:
    """Return a finding that stops a run."""
    return Finding(code, "error", message, fix, dict(evidence))


def warning(code: str, message: str, fix: str, **evidence: object) -> Finding:
    """Return a finding that is shown."""
    return Finding(code, "warning", message, fix, dict(evidence))


def ok(message: str, **evidence: object) -> Finding:
    """Return a finding of what is in order."""
    return Finding("I000", "ok", message, "", dict(evidence))


def unchecked(what: str, why: str, **evidence: object) -> Finding:
    """Return a finding of what could not be looked at: `what`, and the reason."""
    return Finding("I001", "unchecked", f"{what}: {why}", "", dict(evidence))


#: numbers and files that are listed
LISTED, FILES = 6, 2


def file_of(context: Context, shot: Shot, row: int = 0) -> tuple[str, int] | None:
    """Return the file of a trace of a shot and its number there, from 1; None for shots that are in no file."""
    assert context.survey is not None
    reader = getattr(context.survey.reader, "inner", context.survey.reader)
    layouts, first = getattr(reader, "layouts", None), getattr(reader, "first", None)
    if layouts is None or first is None or shot.trace_index is None or not len(shot.trace_index):
        return None
    number = int(shot.trace_index[row])
    f = int(np.searchsorted(first, number, side="right")) - 1
    return str(layouts[f].path), number - int(first[f]) + 1


def file_names(context: Context, shots: Iterable[Shot], rows: Iterable[int] = (0,)) -> list[str]:
    """Return the files in which traces of shots are, each by as much of its path as tells it from the others."""
    assert context.survey is not None
    reader = getattr(context.survey.reader, "inner", context.survey.reader)
    short = short_names(str(layout.path) for layout in getattr(reader, "layouts", None) or ())
    picked = list(rows)
    places = [file_of(context, shot, row) for shot in shots for row in picked]
    return list(dict.fromkeys(short[p[0]] for p in places if p is not None))


def named(context: Context, shots: Sequence[ShotBreaks | SampledShot]) -> str:
    """Return shot numbers and the names of their files."""
    ids = [str(b.shot.id) for b in shots]
    text = f"shot{'s' * (len(ids) > 1)} {', '.join(ids[:LISTED])}{', ...' * (len(ids) > LISTED)}"
    files = file_names(context, (b.shot for b in shots))
    if files:
        text += f" in {', '.join(files[:FILES])}{f' and {len(files) - FILES} more' * (len(files) > FILES)}"
    return text


def leave_out(context: Context, shots: Sequence[ShotBreaks | SampledShot]) -> str:
    """Return the selection of all shots but these, as the key to set."""
    assert context.survey is not None
    wrong = {b.shot.id for b in shots}
    ids = sorted(s.id for s in context.survey.shots)
    runs: list[list[int]] = []
    for before, i in zip([None, *ids], ids, strict=False):
        if i in wrong:
            continue
        if runs and before not in wrong:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    if not runs:
        return "correct these shots in the files"
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return f'correct these shots, or leave them out: [data] shots = "{text}"'


Points = NDArray[np.float64]

#: positions this far outside, in cells, still count as on the edge: coordinates are rounded to centimetres
SLACK = 1e-3


@dataclass
class SurveyExtent:
    """All sources and receivers of a survey against the box of a grid; `slack` in m counts as on the edge."""

    src: Points
    rcv: Points
    shot_ids: NDArray[np.int64]
    rcv_shot: NDArray[np.int64]
    low: Points
    high: Points
    slack: Points
    axes: tuple[int, ...]

    @classmethod
    def of(cls, survey: Survey, grid: Grid) -> SurveyExtent:
        """Collect the positions; `axes` are the horizontal ones."""
        ids = np.array([s.id for s in survey.shots], dtype=np.int64)
        counts = [len(s.rcv) for s in survey.shots]
        src = np.stack([s.src for s in survey.shots])
        rcv = np.concatenate([s.rcv for s in survey.shots]) if sum(counts) else np.zeros((0, 3))
        spacing = np.array(grid.spacing3)
        first = np.array(grid.origin3)
        last = first + (np.array(grid.shape3) - 1) * spacing
        axes = (0,) if grid.ndim == 2 else (0, 1)
        return cls(src, rcv, ids, np.repeat(ids, counts), first, last, SLACK * spacing, axes)

    def outside(self, points: Points) -> NDArray[np.bool_]:
        """Return which points lie outside horizontally."""
        out = np.zeros(len(points), bool)
        for i in self.axes:
            under, over = self.low[i] - points[:, i], points[:, i] - self.high[i]
            out |= (under > self.slack[i]) | (over > self.slack[i])
        return out

    def inside_share(self, points: Points) -> float:
        """Return the share of points inside horizontally."""
        return 1.0 - float(self.outside(points).mean()) if len(points) else 0.0

    def edge(self, points: Points) -> str:
        """Return how far points reach beyond which edges, such as ``beyond x_max by 640 m``."""
        parts = []
        for i in self.axes:
            under, over = (
                float((self.low[i] - points[:, i]).max()),
                float((points[:, i] - self.high[i]).max()),
            )
            if under > self.slack[i]:
                parts.append(f"beyond {'xy'[i]}_min by up to {under:.4g} m")
            if over > self.slack[i]:
                parts.append(f"beyond {'xy'[i]}_max by up to {over:.4g} m")
        return ", ".join(parts)


def layout_of(context: Context) -> SurveyExtent:
    """Return the positions of the survey against the model, collected once for all rules."""
    if "_layout" not in context.facts:
        assert context.survey is not None
        assert context.model is not None
        context.facts["_layout"] = SurveyExtent.of(context.survey, context.model.grid)
    extent: SurveyExtent = context.facts["_layout"]
    return extent


def with_origin(context: Context, origin: list[float]) -> str:
    """Return the tables of all volumes with another origin, as the key to set."""
    volumes = [p for p in context.parameters.values() if p.grid is not None]
    return f"[model] {'; '.join(p.table(origin=origin) for p in volumes)}"
