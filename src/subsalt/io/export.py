"""From any readable volume, run, time image or trace file to any format, chosen by the suffix of the target."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, DataError, MissingInputError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.publish import atomic_write, publish_text
from subsalt.io.regular_files import read_json
from subsalt.io.segy.conversion import convert_traces, stream_su
from subsalt.io.segy.samples import TEXT_HEADER, decode_text
from subsalt.io.volumes import volume
from subsalt.io.volumes.image_traces import ImageTraces, open_image_traces
from subsalt.io.volumes.npy import grid_file, write_npz
from subsalt.io.volumes.rsf import data_of, header_text
from subsalt.io.volumes.segy_image import DESCRIPTION
from subsalt.io.volumes.time_image import SIGNATURE

#: what of a run can be exported by its name
NAMES = ("image", "gathers", "hits")


def is_time_volume(path: Path) -> bool:
    """Return whether a SEG-Y file is one of ours with time downwards."""
    if path.suffix.lower() not in (".sgy", ".segy"):
        return False
    return SIGNATURE in _text_lines(path)[0]


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
        The image that `migrate` wrote: all locations with as many traces each.
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
        _copy(source, Path(target))
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


_IMAGES = ("image.sgy", "image.rsf", "image.npz", "image.vti", "image.nc", "image.zarr")


def image_of(run: str | os.PathLike[str]) -> Path:
    """Return the image file of a run directory.

    Raises
    ------
    MissingInputError
        When the run has no image yet.
    """
    folder = Path(run)
    names = list(_IMAGES)
    try:
        facts = read_json(folder / "run.json")
        # the name alone: a run directory may have been moved, and must not point elsewhere
        names.insert(0, Path(str(facts["image"]["path"])).name)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    for name in names:
        if (folder / name).exists() and not (folder / name).is_symlink():
            return folder / name
    raise MissingInputError(
        f"{folder} holds no image",
        "give a run that has finished, or a file, such as one shot file",
        code="E114",
    )


def export(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    key: str | None = None,
    unit: str | None = None,
    spacing: Sequence[float] | None = None,
    text: Sequence[str] = (),
) -> dict[str, object]:
    """Convert a volume, the image of a run, or trace files.

    Parameters
    ----------
    source : path-like
        A run directory, a volume in any readable format, or SEG-Y or SU traces.
    target : path-like
        Its suffix tells the format: ``.sgy``, ``.rsf``, ``.npz``, ``.npy``, ``.vti``, ``.nc``, ``.zarr`` for
        volumes; ``.su``, or ``-`` for SU on standard output, for traces (and SEG-Y images) as they are.
    key, unit : str, optional
        See `subsalt.io.volumes.volume.read`; of a time migration the key may be ``image``, ``gathers`` or ``hits``.
    spacing : sequence of float, optional
        m along x, (y,) z, for volumes whose files do not say it.
    text : sequence of str
        Lines of provenance.

    Returns
    -------
    dict
        ``source``, ``path``, ``kind`` (``volume``, ``traces`` or ``copy``) and ``shape`` or ``traces``.
    """
    src = Path(source)
    if src.is_dir() and volume.suffix_of(src) != ".zarr":
        # a time migration has more than its image: --key says what
        image = image_of(src)
        timed = key is not None and is_time_volume(image)
        src, key = (file_of_run(src, key), None) if timed and key else (image, key)
    stdout = os.fspath(target) == "-"
    wants_su = stdout or Path(target).suffix.lower() == ".su"
    if not stdout and src.exists() and Path(target).exists() and os.path.samefile(src, target):
        raise ConfigError(f"{target} is the source itself", "give the copy another name", code="E132")
    from_traces = volume.suffix_of(src) == ".su"
    if wants_su or (from_traces and volume.suffix_of(target) == ".sgy"):
        if volume.suffix_of(src) not in (".su", ".sgy"):
            raise DataError(
                f"{src} holds no traces to write as SU",
                "export it to .sgy first, and that to SU",
                code="E276",
            )
        count = stream_su(src, sys.stdout.buffer) if stdout else convert_traces(src, target)
        return {"source": str(source), "path": os.fspath(target), "kind": "traces", "traces": count}
    if src.is_file() and is_time_volume(src):
        if key is not None or unit is not None:
            given = "key" if key is not None else "unit"
            raise ConfigError(
                f"{src} holds one image in time, which has no {given}", f"leave {given} out", code="E836"
            )
        return export_time(src, target) | {"source": str(source)}
    plain = key is None and unit is None and spacing is None and not text
    if plain and volume.suffix_of(src) == volume.suffix_of(target) == ".sgy" and _is_ours(src):
        # our own image keeps its bytes, and so its hash
        _copy(src, Path(target))
        return {"source": str(source), "path": os.fspath(target), "kind": "copy"}
    vol = volume.read(src, key=key, unit=unit, spacing=spacing)
    label = key or ("image" if src.stem == "image" else "values")
    volume.write(
        target, vol.grid, vol.values, vol.frame, text=[*_text_of(src), *text], name=label, lines=vol.lines
    )
    return {"source": str(source), "path": os.fspath(target), "kind": "volume", "shape": list(vol.grid.shape)}


def _text_lines(source: Path) -> list[str]:
    """Return the lines of a SEG-Y textual header without their numbers."""
    with InputFile(source) as file:
        lines, _ = decode_text(file.read_at(0, min(file.size, TEXT_HEADER)))
    return [line[3:].strip() if line[:1] == "C" else line for line in lines]


def _is_ours(source: Path) -> bool:
    return _text_lines(source)[0].startswith(DESCRIPTION[0])


def _copy(source: Path, target: Path) -> None:
    with InputFile(source) as file, atomic_write(target, size=file.size) as f:
        for at in range(0, file.size, 1 << 24):
            f.write(file.read_at(at, min(1 << 24, file.size - at)))


def _text_of(source: Path) -> list[str]:
    """Return the provenance a SEG-Y image carries in its textual header, to hand it on."""
    if volume.suffix_of(source) != ".sgy" or not _is_ours(source):
        return [f"converted from {source.name}"]
    return [line for line in _text_lines(source)[:38] if line and not line.startswith(DESCRIPTION)]
