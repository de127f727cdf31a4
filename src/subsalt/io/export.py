"""From any readable volume, run or trace file to any format, chosen by the suffix of the target."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from subsalt.errors import ConfigError, DataError, MissingInputError
from subsalt.io import volume
from subsalt.io.su import convert_traces, stream_su

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
        f"{folder} holds no image", "wait until the run has finished, or name a file", code="E114"
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
        As in `subsalt.io.volume.read`.
    name : str, optional
        Name of the array in the target.
    text : sequence of str
        Lines of provenance.

    Returns
    -------
    dict
        ``source``, ``path``, ``kind`` and ``shape`` or ``traces``.
    """
    src = Path(source)
    if src.is_dir() and volume.suffix_of(src) != ".zarr":
        src = image_of(src)
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
    vol = volume.read(src, key=key, unit=unit, spacing=spacing, origin=origin)
    label = name or key or ("image" if src.stem == "image" else "values")
    volume.write(target, vol.grid, vol.values, vol.frame, text=[*_text_of(src), *text], name=label)
    return {"source": str(source), "path": os.fspath(target), "kind": "volume", "shape": list(vol.grid.shape)}


def _text_of(source: Path) -> list[str]:
    """Return the provenance a SEG-Y image carries in its textual header, to hand it on."""
    if volume.suffix_of(source) != ".sgy":
        return [f"converted from {source.name}"]
    from subsalt.io.files import InputFile
    from subsalt.io.segy_image import DESCRIPTION
    from subsalt.io.text_header import TEXT_HEADER, decode_text

    with InputFile(source) as file:
        lines, _ = decode_text(file.read_at(0, min(file.size, TEXT_HEADER)))
    content = [line[3:].strip() if line[:1] == "C" else line for line in lines]
    if not content[0].startswith(DESCRIPTION[0]):
        return [f"converted from {source.name}"]
    return [line for line in content[:38] if line and not line.startswith(DESCRIPTION)]
