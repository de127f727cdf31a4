"""From any readable volume, run or trace file to any format, chosen by the suffix of the target."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from subsalt.errors import ConfigError, DataError, MissingInputError
from subsalt.io import volume
from subsalt.io.export_time import export_time, file_of_run, is_time_volume
from subsalt.io.files import InputFile
from subsalt.io.publish import atomic_write
from subsalt.io.segy_image import DESCRIPTION
from subsalt.io.su import convert_traces, stream_su
from subsalt.io.text_header import TEXT_HEADER, decode_text

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
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
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
    origin: Sequence[float] | None = None,
    name: str | None = None,
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
    key, unit, spacing, origin
        As in `subsalt.io.volume.read`; of a time migration the key may be ``image``, ``gathers`` or ``hits``.
    name : str, optional
        Name of the array in the target.
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
            name = "key" if key is not None else "unit"
            raise ConfigError(
                f"{src} holds one image in time, which has no {name}", f"leave {name} out", code="E836"
            )
        return export_time(src, target) | {"source": str(source)}
    plain = key is None and unit is None and spacing is None and origin is None and not text
    if plain and volume.suffix_of(src) == volume.suffix_of(target) == ".sgy" and _is_ours(src):
        # our own image keeps its bytes, and so its hash
        _copy(src, Path(target))
        return {"source": str(source), "path": os.fspath(target), "kind": "copy"}
    vol = volume.read(src, key=key, unit=unit, spacing=spacing, origin=origin)
    label = name or key or ("image" if src.stem == "image" else "values")
    volume.write(target, vol.grid, vol.values, vol.frame, text=[*_text_of(src), *text], name=label)
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
