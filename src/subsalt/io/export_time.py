"""From a time image or image gathers in SEG-Y to other formats."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError, MissingInputError
from subsalt.io.files import InputFile
from subsalt.io.image_traces import ImageTraces, open_image_traces
from subsalt.io.npy import grid_file, write_npz
from subsalt.io.publish import atomic_write, publish_text
from subsalt.io.raw import raw_bytes
from subsalt.io.rsf import data_of, header_text
from subsalt.io.text_header import TEXT_HEADER, decode_text
from subsalt.io.time_volume import SIGNATURE

#: what of a run can be exported by its name
NAMES = ("image", "gathers", "hits")


def is_time_volume(path: Path) -> bool:
    """Return whether a SEG-Y file is one of ours with time downwards."""
    if path.suffix.lower() not in (".sgy", ".segy"):
        return False
    with InputFile(path) as file:
        lines, _ = decode_text(file.read_at(0, min(file.size, TEXT_HEADER)))
    return SIGNATURE in lines[0]


def file_of_run(folder: Path, name: str) -> Path:
    """Return the SEG-Y file of a time migration that holds its image, gathers or hits.

    Raises
    ------
    MissingInputError
        When the run has none.
    """
    path = folder / f"{name}.sgy"
    if name in NAMES and path.is_file() and not path.is_symlink():
        return path
    there = [n for n in NAMES if (folder / f"{n}.sgy").is_file()]
    raise MissingInputError(
        f"{folder} holds no {name}",
        f"use --key with one of {', '.join(there)}" if there else "give a run that has finished",
        code="E114",
    )


def export_time(source: Path, target: str | os.PathLike[str]) -> dict[str, object]:
    """Write a time image or image gathers as RSF, NPZ or NPY, or copy it as SEG-Y.

    Parameters
    ----------
    source : path
        What `migrate` wrote: all locations with as many traces each.
    target : path-like
        Its suffix tells the format.

    Returns
    -------
    dict
        As `subsalt.io.export.export`.

    Raises
    ------
    DataError
        For other formats, and for a file whose locations are no rectangle.

    Notes
    -----
    Axes are inline, crossline, (image trace), time; time is the fastest. A few inlines are in memory at a time, in NPZ
    and NPY all of them.
    """
    suffix = Path(target).suffix.lower()
    if suffix in (".sgy", ".segy"):
        with InputFile(source) as file, atomic_write(target, size=file.size) as f:
            for at in range(0, file.size, 1 << 24):
                f.write(file.read_at(at, min(1 << 24, file.size - at)))
        return {"source": str(source), "path": os.fspath(target), "kind": "copy"}
    writers: dict[str, Callable[[ImageTraces, tuple[int, ...], Path], None]] = {
        ".rsf": _write_rsf,
        ".npz": _write_npz,
        ".npy": _write_npy,
    }
    if suffix not in writers:
        raise DataError(
            f"{source} is an image in time, and {suffix or 'a name without suffix'} holds volumes in depth",
            f"export it to .sgy, .su, {', '.join(writers)}",
            code="E835",
        )
    traces = open_image_traces(source)
    shape = shape_of(traces)
    writers[suffix](traces, shape, Path(target))
    return {"source": str(source), "path": os.fspath(target), "kind": "time volume", "shape": list(shape)}


def shape_of(traces: ImageTraces) -> tuple[int, ...]:
    """Return inlines, crosslines, image traces where there are several, and samples of a file.

    Raises
    ------
    DataError
        When its locations are no rectangle, or differ in their number of traces.
    """
    ni, nj = len(np.unique(traces.inline)), len(np.unique(traces.crossline))
    each = traces.per_location
    if ni * nj * each != len(traces.order):
        raise DataError(
            f"{traces.layout.path} has {len(traces.order)} traces at {ni} inlines and {nj} crosslines, {each} at some",
            "only a full rectangle of locations with as many traces each becomes an array",
            code="E835",
        )
    return (ni, nj, each, traces.time.nt) if each > 1 else (ni, nj, traces.time.nt)


def _inlines(traces: ImageTraces, shape: tuple[int, ...]) -> Iterator[NDArray[np.float32]]:
    """Yield the traces inline by inline, each with the axes of `shape` but the first."""
    per = len(traces.order) // shape[0]
    for a in range(0, len(traces.order), per):
        yield traces.read(np.arange(a, a + per)).reshape(shape[1:])


def _facts(traces: ImageTraces, shape: tuple[int, ...]) -> dict[str, NDArray]:
    """Return line numbers, times, map positions, and offsets of gathers."""
    each = shape[2] if len(shape) == 4 else 1
    out: dict[str, NDArray] = {
        "inline": np.unique(traces.inline),
        "crossline": np.unique(traces.crossline),
        "time_s": traces.time.values(),
        "xy_m": traces.xy[::each].reshape(shape[0], shape[1], 2),
    }
    return out | {"offset_m": traces.offset[:each]} if each > 1 else out


def _on_map(facts: dict[str, NDArray]) -> dict[str, list[float]]:
    """Return the map position of the first location, and the map vectors from one line number to the next, m."""
    xy, out = facts["xy_m"], {"corner_m": facts["xy_m"][0, 0]}
    for axis, name in enumerate(("inline", "crossline")):
        n = facts[name]
        last = xy[-1, 0] if axis == 0 else xy[0, -1]
        # a line has one inline, and no direction across
        out[f"per_{name}_m"] = (last - xy[0, 0]) / max(1, int(n[-1] - n[0]))
    return {k: [round(float(x), 6) for x in v] for k, v in out.items()}


def _write_rsf(traces: ImageTraces, shape: tuple[int, ...], target: Path) -> None:
    facts, data = _facts(traces, shape), data_of(target)
    with atomic_write(data, size=4 * int(np.prod(shape))) as f:
        for part in _inlines(traces, shape):
            f.write(raw_bytes(np.ascontiguousarray(part, "<f4")))
    axes = [(traces.time.nt, traces.time.dt, traces.time.t0, "time", "s")]
    extra = {k: f"{v[0]!r} {v[1]!r}" for k, v in _on_map(facts).items()}
    if len(shape) == 4:
        axes.append((shape[2], 1.0, 0.0, "class", ""))
        extra["class_offsets_m"] = " ".join(f"{x:g}" for x in facts["offset_m"])
    for name in ("crossline", "inline"):
        n = facts[name]
        axes.append((len(n), float(n[1] - n[0]) if len(n) > 1 else 1.0, float(n[0]), name, ""))
    publish_text(target, header_text(data, axes, [f"converted from {Path(traces.layout.path).name}"], extra))


def _write_npz(traces: ImageTraces, shape: tuple[int, ...], target: Path) -> None:
    name = "gathers" if len(shape) == 4 else "image"
    write_npz(target, {name: np.stack(list(_inlines(traces, shape))), **_facts(traces, shape)})


def _write_npy(traces: ImageTraces, shape: tuple[int, ...], target: Path) -> None:
    with atomic_write(target) as f:
        np.lib.format.write_array(f, np.stack(list(_inlines(traces, shape))), allow_pickle=False)
    facts = _facts(traces, shape)
    said = {
        "shape": shape,
        "axes": ["inline", "crossline", *["class"] * (len(shape) == 4), "t"],
        **_on_map(facts),
    }
    lists = {k: facts[k].tolist() for k in ("inline", "crossline", "time_s", "offset_m") if k in facts}
    publish_text(grid_file(target), json.dumps(said | lists) + "\n")
