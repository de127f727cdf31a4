"""No time is believed before the answers agree: wavefields and images of two sides compared."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from cases import Case
from sides import Side, Worker


def centre(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the middle of `a`'s last axes, of at most `shape`."""
    cut = [slice((n - m) // 2, (n - m) // 2 + m) for n, m in zip(a.shape[-len(shape) :], shape, strict=True)]
    return a[(..., *cut)]


def relative_l2(ours: Path, theirs: Path, ndim: int) -> float:
    """Return |ours - theirs| / |theirs| on the points both have, in float64, one plane at a time.

    Both grids are centred on the interior, so that the common part of both is their middle.
    """
    a, b = np.load(ours, mmap_mode="r"), np.load(theirs, mmap_mode="r")
    shape = tuple(min(n, m) for n, m in zip(a.shape[-ndim:], b.shape[-ndim:], strict=True))
    a, b = (centre(w, shape).reshape(-1, *shape) for w in (a, b))
    if a.shape != b.shape:
        raise SystemExit(f"the sides saved {a.shape[0]} and {b.shape[0]} fields")
    top = bottom = 0.0
    for f in range(a.shape[0]):
        for i in range(a.shape[1]):
            u, v = a[f, i].astype(np.float64), b[f, i].astype(np.float64)
            top += float(((u - v) ** 2).sum())
            bottom += float((v**2).sum())
    return (top / bottom) ** 0.5 if bottom > 0 else float("inf")


def accept(case: Case, misfits: dict[str, float], limits: dict[str, float]) -> None:
    """End the run when a difference is above its limit, or is not a number."""
    for name, value in misfits.items():
        if not value <= limits[name]:
            raise SystemExit(
                f"{case.name}: {name} differs from ours by {value:.2e} (relative L2), more than {limits[name]:g}"
            )


def wavefields(
    case: Case, sides: dict[str, Side], workers: dict[str, Worker], source_steps: int, field_steps: int
) -> dict[str, float]:
    """Return the differences from our first side: a point source from rest, then the filled grid of the rounds.

    The source stands in the middle and its wave does not reach a layer, so that any two sides can be compared; the
    filled grid only where the layers are the same.
    """
    first = next(iter(sides))
    fields, limits = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.npy", Path(folder) / "theirs.npy"
        for kind in ("source", "field"):
            if kind == "source":
                _positive(first, workers[first].ask("check", steps=source_steps, out=str(ours)))
            else:
                _advanced(workers[first], field_steps, ours)
            for name, side in sides.items():
                if name == first or (kind == "field" and not side.same_layer):
                    continue
                if kind == "source":
                    _positive(name, workers[name].ask("check", steps=source_steps, out=str(theirs)))
                else:
                    _advanced(workers[name], field_steps, theirs)
                key = f"{name}, {kind}"
                fields[key] = relative_l2(ours, theirs, case.ndim)
                limits[key] = max(side.tolerance, sides[first].tolerance)
    accept(case, fields, limits)
    return fields


def images(case: Case, sides: dict[str, Side], workers: dict[str, Worker]) -> dict[str, float]:
    """Give every side the same traces, and return the differences of the images.

    A peer with the layer of our damping side is compared with that, all others with our first side.
    """
    first, damping = next(iter(sides)), f"damping {case.layer}"
    sums, limits = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        traces = Path(folder) / "traces.npy"
        files = {name: Path(folder) / f"{i}.npy" for i, name in enumerate(sides)}
        _positive("traces", workers[first].ask("traces", out=str(traces)))
        for name, worker in workers.items():
            worker.ask("data", path=str(traces))
            worker.ask("round")
            _positive(name, worker.ask("save", out=str(files[name])))
        for name, side in sides.items():
            reference = damping if side.same_layer else first
            if name != reference:
                key = f"{name}, image"
                sums[key] = relative_l2(files[reference], files[name], case.ndim)
                limits[key] = side.tolerance
    accept(case, sums, limits)
    return sums


def sums(case: Case, sides: dict[str, Side], workers: dict[str, Worker]) -> dict[str, float]:
    """Return the differences of the images of equal traces from that of our first side."""
    first, by_side, limits = next(iter(sides)), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder) / "ours.npy", Path(folder) / "theirs.npy"
        _positive(first, workers[first].ask("save", out=str(ours)))
        for name, side in sides.items():
            if name != first:
                _positive(name, workers[name].ask("save", out=str(theirs)))
                key = f"{name}, image"
                by_side[key] = relative_l2(ours, theirs, case.ndim)
                limits[key] = side.tolerance
    accept(case, by_side, limits)
    return by_side


def scattering(case: Case, sides: dict[str, Side], workers: dict[str, Worker]) -> dict[str, float]:
    """Give every side the same data, which no grid made, and return how far its own operator is from them."""
    first, by_side, limits = next(iter(sides)), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        data, made = Path(folder) / "data.npy", Path(folder) / "made.npy"
        _positive("data", workers[first].ask("traces", out=str(data)))
        for name, side in sides.items():
            workers[name].ask("data", path=str(data))
            _positive(name, workers[name].ask("check", out=str(made)))
            key = f"{name}, data"
            by_side[key] = relative_l2(made, data, 3)
            limits[key] = side.tolerance
    for key, value in by_side.items():
        if not value <= limits[key]:
            raise SystemExit(
                f"{case.name}: {key} differ from those without a grid by {value:.2e} (relative L2), more than "
                f"{limits[key]:g}"
            )
    return by_side


def _advanced(worker: Worker, steps: int, out: Path) -> None:
    worker.ask("fill")
    worker.ask("round", steps=steps)
    worker.ask("save", out=str(out))


def _positive(name: str, peak: float) -> None:
    if not peak > 0:
        raise SystemExit(f"{name}: nothing to compare, the largest value is {peak}")
