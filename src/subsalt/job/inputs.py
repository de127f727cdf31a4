"""The files that a job names: patterns expanded, existence checked, in one order."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import GeometryError, MissingInputError
from subsalt.io.input_file import InputFile
from subsalt.io.objects import StoredObject, as_path, is_url, matching, refuse_url, tree_fingerprint
from subsalt.io.publish import sha256_file
from subsalt.io.segy.index import SUFFIX
from subsalt.missing_files import missing_file, no_match

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob

#: folders that are one input each
STORES = (".zarr", ".mdio")


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key in which shot9 comes before shot10."""
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.split(r"(\d+)", text) if p]


def expand_files(job: BaseJob, patterns: list[str], key: str = "data.files") -> list[Path]:
    """Return the files that names and patterns of `key` stand for, each once, in natural order within a pattern."""
    out: list[Path] = []
    for pattern in patterns:
        path = job.resolve(pattern)
        if glob.has_magic(pattern):
            files = sorted(matching(str(path)), key=natural_key)
            if (
                not files
                and not is_url(path)
                and path.parent.is_dir()
                and not os.access(path.parent, os.R_OK | os.X_OK)
            ):
                raise MissingInputError(
                    f"{key}: {path.parent} cannot be read", "check its permissions", code="E111"
                )
            if not files:
                raise no_match(path, f"check the pattern in {key}: it counts from the folder of the job file")
            paths = [as_path(f) for f in files if not f.endswith(SUFFIX)]
            out += [p for p in paths if is_url(p) or not p.is_dir() or p.suffix in STORES]
        else:
            out.append(existing(path, key, stored=True))
    return list(dict.fromkeys(out))


def data_files(job: BaseJob) -> list[Path]:
    """Return the files of `[data]` without those that `exclude` names as a whole: they are not even opened.

    Raises
    ------
    GeometryError
        When an entry names no file of them, or none is left.
    """
    from subsalt.io.segy.exclude import refuse_unmatched

    files = expand_files(job, job.data.files)
    whole = [e for e in job.data.excluded() if e.whole_file]
    refuse_unmatched(whole, [any(e.names(str(p)) for p in files) for e in whole])
    left = [p for p in files if not any(e.names(str(p)) for e in whole)]
    if not left:
        raise GeometryError(
            f"[data] exclude leaves none of {len(files)} files", "leave out fewer", code="E244"
        )
    return left


def existing(path: Path, key: str, *, stored: bool = False) -> Path:
    """Return the path of a file that the job names under `key`, or raise when it is not there.

    `stored` says that it may be an object in a store, which is looked for where it is opened.
    """
    if is_url(path):
        if not stored:
            refuse_url(path, key)
        return path
    if not _exists(path):
        raise missing_file(path, "names count from the folder of the job file", key)
    if path.is_dir() and path.suffix not in STORES:
        raise MissingInputError(
            f"{key}: {path} is a directory", 'name files, or use a pattern such as "shots/*.sgy"', code="E110"
        )
    if not os.access(path, os.R_OK):
        raise MissingInputError(f"{key}: {path} cannot be read", "check its permissions", code="E111")
    if not (path.is_file() or path.is_dir()):
        # the one would wait, the other never end
        raise MissingInputError(
            f"{key}: {path} is a pipe or device, not a file", "copy the data to a file first", code="E111"
        )
    return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have: too long, or a loop of links
        return False


def signal_files(job: BaseJob) -> dict[str, list[Path]]:
    """Return the files that the steps of `[[signal]]` read, by the dotted key that names them."""
    return {
        f"signal.{place}.{key}": [existing(job.resolve(name), f"[[signal]] {place + 1} {key}")]
        for place, step in enumerate(job.signal or [])
        for key, name in step.files().items()
    }


def geometry_files(job: BaseJob) -> dict[str, list[Path]]:
    """Return the files of `[data.geometry]`, by the dotted key that names them."""
    section, out = job.data.geometry, {}
    if section is not None:
        for name in ("files", "shots", "receivers"):
            named = getattr(section, name)
            if named is not None:
                key = f"data.geometry.{name}"
                out[key] = expand_files(job, [named] if isinstance(named, str) else named, key)
    return out


def with_payload(path: Path) -> list[Path]:
    """Return a model file and what belongs to it: the binary of an RSF header, the side file of an array."""
    if path.suffix == ".rsf":
        names = re.findall(r'\bin\s*=\s*"?([^"\s]+)', _head(path))
        payload = path.parent / names[-1] if names and names[-1] != "stdin" else None
        if payload is not None and payload.is_file():
            return [path, payload]
    if path.suffix == ".npy" and path.with_name(f"{path.name}.json").is_file():
        return [path, path.with_name(f"{path.name}.json")]
    return [path]


def _head(path: Path) -> str:
    """Return the beginning of a text."""
    with InputFile(path) as file:
        return file.read_at(0, min(file.size, 1 << 16)).decode("latin-1")


def input_facts(key: str, path: Path) -> dict[str, object]:
    """Return key, name, size and SHA-256 of what a job reads.

    Of an object in a store the hash is that of its size and version as the store tells them, and of all its bytes
    where it tells no version.
    """
    if path.suffix in STORES and (is_url(path) or path.is_dir()):
        size, digest = tree_fingerprint(path)
        return {"key": key, "path": str(path), "bytes": size, "sha256": digest}
    if is_url(path):
        stored = StoredObject(path)
        return {"key": key, "path": str(path), "bytes": stored.size, "sha256": stored.fingerprint()}
    return {"key": key, "path": str(path), "bytes": path.stat().st_size, "sha256": sha256_file(path)}
