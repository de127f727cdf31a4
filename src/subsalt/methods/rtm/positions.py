"""A survey from the positions of `[acquisition]`: lines, patches, or CSV tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.memory import require
from subsalt.errors import ConfigError, GeometryError
from subsalt.job.csv_tables import read_table

if TYPE_CHECKING:
    from subsalt.methods.rtm.acquisition_section import Positions
    from subsalt.methods.rtm.sections import RtmTables


#: more positions than this in one line or patch are taken for a mistake in n or step
MOST_POINTS = 10_000_000


#: bytes that a shot and a trace take, with what the rules of check make of their positions
SHOT_BYTES, TRACE_BYTES = 2000, 400


def expand(positions: Positions) -> NDArray[np.float64]:
    """Return the points (n, 3) of a line or patch, in metres, y = 0 where two coordinates are given.

    Raises
    ------
    ConfigError
        When `step` cannot lead from `first` to `last`.
    """
    assert positions.first is not None
    first = _xyz(positions.first)
    counts = positions.n if isinstance(positions.n, list) else [positions.n or 1]
    if math.prod(counts) > MOST_POINTS:
        raise ConfigError(f"{' x '.join(map(str, counts))} positions", "correct n", code="E104")
    if isinstance(positions.n, list):
        return _patch(positions, first)
    step = None if positions.step is None else _step(positions, first)
    if positions.last is None:
        n = positions.n or 1
        along = np.zeros(3) if step is None else step
        return first + np.arange(n)[:, None] * along
    last = _xyz(positions.last)
    if positions.n is not None:
        n = positions.n
    else:
        assert step is not None
        length, h = float(np.linalg.norm(last - first)), float(np.linalg.norm(step))
        n = 1 + int(length / h + 1e-6) if h > 0 else 0
        last = first + (n - 1) * step
    if not 1 <= n <= MOST_POINTS:
        raise ConfigError(
            f"a line from {positions.first} to {positions.last} would have {n} points", "correct n or step"
        )
    if n == 1:
        return first[None]
    # weights i/(n-1) hit both ends exactly
    t = (np.arange(n) / (n - 1))[:, None]
    return first * (1 - t) + last * t


def _xyz(values: list[float]) -> NDArray[np.float64]:
    return np.array(values if len(values) == 3 else [values[0], 0.0, values[1]], dtype=np.float64)


def _step(positions: Positions, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step as a vector: a number goes along the line to `last`, or along x when there is no
    `last`.
    """
    if isinstance(positions.step, list):
        return _xyz(positions.step)
    assert positions.step is not None
    if positions.last is None:
        return np.array([positions.step, 0.0, 0.0])
    way = _xyz(positions.last) - first
    length = float(np.linalg.norm(way))
    return way * (abs(positions.step) / length) if length > 0 else np.zeros(3)


def _patch(positions: Positions, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of a patch, x fastest."""
    assert isinstance(positions.n, list)
    nx, ny = positions.n
    if positions.last is not None:
        last = _xyz(positions.last)
    else:
        step = positions.step
        if isinstance(step, list):
            vector = _xyz(step)
        else:
            vector = np.array([step or 0.0, step or 0.0, 0.0])
        last = first + vector * np.array([nx - 1, ny - 1, 0])
    x, y = np.linspace(first[0], last[0], nx), np.linspace(first[1], last[1], ny)
    out = np.empty((ny, nx, 3))
    out[..., 0], out[..., 1], out[..., 2] = x[None, :], y[:, None], first[2]
    return out.reshape(-1, 3)


def _sources(job: RtmTables) -> list[tuple[int, NDArray[np.float64]]]:
    """Return id and position of every source."""
    assert job.acquisition is not None
    out: list[tuple[int, NDArray[np.float64]]] = []
    for item in job.acquisition.shots:
        if item.relative:
            raise ConfigError(
                "acquisition.shots: relative = true has no meaning for sources", "remove it", code="E104"
            )
        if item.file is not None:
            table = read_table(job.resolve(item.file), ("shot", "sx", "sy", "sz"))
            out += [(int(row[0]), row[1:]) for row in table]
        else:
            start = len(out) + 1
            points = expand(item)
            _refuse_too_many(len(points), 0)
            out += [(start + i, p) for i, p in enumerate(points)]
    return out


def build_survey(job: RtmTables) -> Survey:
    """Return the survey of `[acquisition]`, without data.

    Raises
    ------
    ConfigError
        When the job has no `[acquisition]`, or a CSV is wrong.
    GeometryError
        When a shot has no receiver.
    """
    acq = job.acquisition
    if acq is None:
        raise ConfigError(
            "the job has no [acquisition]", "add shots, receivers, record_length and dt", code="E102"
        )
    sources = _sources(job)
    fixed: list[NDArray[np.float64]] = []
    moving: list[NDArray[np.float64]] = []
    by_shot: dict[int, list[NDArray[np.float64]]] = {}
    for item in acq.receivers:
        if item.file is not None:
            table = read_table(job.resolve(item.file), ("shot", "chan", "gx", "gy", "gz"))
            for shot in np.unique(table[:, 0]):
                mine = table[table[:, 0] == shot]
                by_shot.setdefault(int(shot), []).append(mine[np.argsort(mine[:, 1], kind="stable"), 2:])
        else:
            (moving if item.relative else fixed).append(expand(item))
    unknown = set(by_shot) - {i for i, _ in sources}
    if unknown:
        raise GeometryError(
            f"the receiver CSV names shots that do not exist: {sorted(unknown)[:5]}",
            "use the ids of the shots",
            code="E305",
        )
    common, own = sum(map(len, (*fixed, *moving))), sum(len(m) for parts in by_shot.values() for m in parts)
    _refuse_too_many(len(sources), len(sources) * common + own)
    shots = []
    for number, src in sources:
        # a relative spread moves sideways with the source; its depth is its own
        shift = np.array([src[0], src[1], 0.0])
        parts = fixed + [m + shift for m in moving] + by_shot.get(number, [])
        if not parts:
            raise GeometryError(
                f"shot {number} has no receiver", "add its lines to the receiver CSV", code="E306"
            )
        shots.append(Shot(number, src, np.concatenate(parts)))
    nt = round(acq.record_length / acq.dt) + 1
    is_line = all(not s.src[1] and not s.rcv[:, 1].any() for s in shots)
    return Survey(shots, TimeAxis(nt, acq.dt), 2 if _says_2d(job, is_line) else 3)


def _refuse_too_many(shots: int, traces: int) -> None:
    """Raise when so many shots and traces do not fit into memory, before they are made."""
    require(
        SHOT_BYTES * shots + TRACE_BYTES * traces,
        f"[acquisition] has {shots} shots and {traces} traces",
        "model fewer at a time, or correct n, step and the tables",
    )


def _says_2d(job: RtmTables, is_line: bool) -> bool:
    """Return whether the survey is 2-D: positions of two numbers, or a grid of two axes; else CSV tables with
    y = 0.
    """
    acq = job.acquisition
    assert acq is not None
    sizes = {len(p.first) for p in (*acq.shots, *acq.receivers) if p.first is not None}
    if len(sizes) > 1:
        raise ConfigError(
            "[acquisition] mixes positions (x, z) and (x, y, z)", "use one of both", code="E104"
        )
    if sizes:
        return sizes == {2}
    grid = job.grid
    for given in () if grid is None else (grid.shape, grid.extent, grid.spacing, grid.origin):
        if isinstance(given, list):
            return len(given) == 2
    return is_line
