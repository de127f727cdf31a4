"""NumPy files: models in NPZ (arrays with spacing_m, origin_m, axes) and bare arrays in NPY. Never a pickle."""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.memory import require
from subsalt.earth.planes import Planes
from subsalt.errors import ModelError, SubsaltError
from subsalt.host import human
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.objects import as_path
from subsalt.io.publish import atomic_write, publish_text
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.planes import (
    AcrossPlanes,
    Bytes,
    FileBytes,
    OpenVolume,
    OwnPlanes,
    RawPlanes,
    VolumeLabel,
    frame_from,
)
from subsalt.io.volumes.request import VolumeRequest

#: arrays beyond this are not models of a machine this runs on: a bound for what a hostile header may claim
_LARGEST = 1 << 42
#: bytes of a side file that are read
_MOST_TEXT = 1 << 16


def _header(stream: object, name: str) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Return shape, number type and whether the first axis is the fastest."""
    try:
        version = np.lib.format.read_magic(stream)  # type: ignore[arg-type]
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, columns, dtype = read(stream)  # type: ignore[arg-type]
    except Exception as e:
        raise ModelError(f"{name} is not a NumPy array: {str(e)[:200]}", "check the file", code="E224") from e
    if dtype.hasobject:
        raise ModelError(
            f"{name} holds Python objects (a pickle), which are never read", "store numbers", code="E224"
        )
    if dtype.kind not in "fiubUS" or math.prod(shape) * max(dtype.itemsize, 1) > _LARGEST:
        raise ModelError(f"{name} is {dtype} of shape {shape}", "store float32 numbers", code="E224")
    return shape, dtype, columns


def _numbers(data: Bytes, offset: int, shape: tuple[int, ...], dtype: np.dtype, columns: bool) -> Planes:
    """Return the volume of an array whose values begin at `offset`; `columns` is NumPy's Fortran order."""
    kind = AcrossPlanes if columns and len(shape) > 1 else RawPlanes
    return kind(data, offset, shape, dtype)


def open_npy(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    """Open a ``.npy`` array of numbers; its size is checked against the file."""
    a = _open_array(as_path(path))
    said = read_grid_file(path, a.shape)
    frame = frame_from(said["frame"], grid_file(path)) if said else Frame()
    return OpenVolume(request.grid(path, a.shape, said.get("spacing_m"), said.get("origin_m")), frame, a)


def _open_array(name: Path) -> Planes:
    with InputFile(name, ModelError) as file:
        stream = io.BytesIO(file.read_at(0, min(file.size, _MOST_TEXT)))
        shape, dtype, columns = _header(stream, str(name))
        need = math.prod(shape) * dtype.itemsize
        have = file.size - stream.tell()
        if have < need:
            raise ModelError(
                f"{name} announces {need} bytes of data ({' x '.join(map(str, shape))} {dtype}) and holds {have}",
                "copy the file again",
                code="E223",
            )
        _real(dtype, name)
        return _numbers(FileBytes(name), stream.tell(), shape, dtype, columns)


def open_npz(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    """Open an array of an ``.npz`` file, with its ``spacing_m``, ``origin_m``, ``axes`` and ``frame``."""
    with NpzFile(path) as z:
        volumes = [k for k in z.keys if len(z.shape(k)) in (2, 3)]
        key = volumes[0] if request.key is None and len(volumes) == 1 else request.key
        if key is None or key not in z:
            problem = "holds several arrays" if key is None else f"has no array {key!r}"
            raise ModelError(
                f"{path} {problem}: {', '.join(volumes[:20])}", 'say which: key = "..."', code="E231"
            )
        a = z.planes(key)
        spacing, origin, world = (z.small(name) for name in ("spacing_m", "origin_m", "frame"))
        names = z.axis_names()
    if names and names[-1].lower() not in request.last:
        raise ModelError(
            f"{path}: axes are {', '.join(names)}",
            f"store {'time' if 't' in request.last else 'depth'} as the last axis",
            code="E230",
        )
    frame = Frame()
    if world is not None and world.size == 4 and world.dtype.kind == "f":
        frame = frame_from(world.tolist(), path)
    steps, first = (None if v is None else [float(x) for x in v] for v in (spacing, origin))
    return OpenVolume(request.grid(path, a.shape, steps, first), frame, a)


def _real(dtype: np.dtype, name: object) -> None:
    if dtype.kind not in "fiub":
        raise ModelError(f"{name} holds {dtype}, not real numbers", "store float32", code="E224")


#: zipfile and zlib raise half a dozen unrelated types on damaged files
_DAMAGED = Exception


def _unreadable(name: str, error: Exception) -> ModelError:
    return ModelError(f"{name} cannot be read: {str(error)[:200]}", "copy the file again", code="E224")


class MemberBytes:
    """The bytes of a deflated member of a zip file, unpacked from its beginning on as far as they are asked for.

    Going back means to begin again; reading planes in their order unpacks the member once. Its checksum is verified
    when its end is reached.
    """

    def __init__(self, path: Path, member: zipfile.ZipInfo, name: str) -> None:
        self._path, self._member, self._name = path, member, name
        self._stream: IO[bytes] | None = None
        self._at = 0

    def fetch(self, offset: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `offset`; return how many bytes were unpacked for that."""
        moved = 0
        try:
            if self._stream is None or offset < self._at:
                with zipfile.ZipFile(self._path) as archive:  # an open member outlives its archive
                    self._stream, self._at = archive.open(self._member), 0
            while self._at < offset:
                moved += self._skip(min(offset - self._at, 1 << 20))
            done = 0
            while done < len(out):
                part = self._stream.read(min(len(out) - done, 1 << 24))
                if not part:
                    raise EOFError(f"it ends at byte {self._at}")
                out[done : done + len(part)] = part
                done += len(part)
                self._at += len(part)
            if self._at >= self._member.file_size:
                # the end is only noticed, and the checksum compared, by a read that meets it
                self._stream.read(1)
        except _DAMAGED as e:
            self._stream = None
            raise _unreadable(self._name, e) from e
        return moved + done

    def _skip(self, nbytes: int) -> int:
        assert self._stream is not None
        part = self._stream.read(nbytes)
        if not part:
            raise EOFError(f"it ends at byte {self._at}")
        self._at += len(part)
        return len(part)


class NpzPlanes(RawPlanes):
    """Planes of a stored (not deflated) member: a part by positioned reads, all of it through its checksum."""

    def __init__(self, checked: RawPlanes, data: FileBytes, offset: int) -> None:
        super().__init__(data, offset, checked.shape, checked.stored)
        self._checked = checked

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        if (lo, hi) != (0, len(self)):
            return super().read(lo, hi)
        out = self._checked.read(lo, hi)
        self._count(out.size, out.size * self.itemsize)
        return out


class NpzFile:
    """The arrays of an ``.npz`` file, each read when asked for and checked before it is allocated."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with InputFile(self.path, ModelError) as file:
            self.size = file.size
        try:
            self._zip = zipfile.ZipFile(self.path)
        except (
            EOFError,
            IndexError,
            struct.error,
            zipfile.BadZipFile,
            OSError,
            ValueError,
            NotImplementedError,
        ) as e:
            raise ModelError(
                f"{self.path} is not an NPZ file: {e}", "check how it was copied", code="E224"
            ) from e
        self._members = {
            i.filename[:-4]: i for i in self._zip.infolist()[:10_000] if i.filename.endswith(".npy")
        }

    @property
    def keys(self) -> list[str]:
        """Names of the arrays."""
        return list(self._members)

    def shape(self, key: str) -> tuple[int, ...]:
        """Shape of an array, from its header alone."""
        return self._open(key, header_only=True).shape

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def __getitem__(self, key: str) -> NDArray:
        return self._open(key, header_only=False)

    def small(self, name: str) -> NDArray | None:
        """Return an array of at most 16 values as a row; None when there is none."""
        return self[name].reshape(-1) if name in self and np.prod(self.shape(name)) <= 16 else None

    def axis_names(self) -> list[str]:
        """Return what the array ``axes`` calls the axes, slowest first; empty when it does not."""
        axes = self.small("axes")
        if axes is None or axes.dtype.kind not in "US":
            return []
        names = [str(v.decode() if isinstance(v, bytes) else v) for v in axes]
        return names[0].strip("[]()").replace(" ", "").split(",") if len(names) == 1 else names

    def planes(self, key: str) -> Planes:
        """Return an array of numbers as a volume that is read by planes."""
        self.shape(key)  # refuses what claims more than the file can hold
        member, name = self._members[key], f"{self.path}[{key}]"
        try:
            with self._zip.open(member) as stream:
                text = io.BytesIO(stream.read(_MOST_TEXT))
        except _DAMAGED as e:
            raise _unreadable(name, e) from e
        shape, dtype, columns = _header(text, name)
        start = text.tell()
        _real(dtype, name)
        volume = _numbers(MemberBytes(self.path, member, name), start, shape, dtype, columns)
        if member.compress_type != zipfile.ZIP_STORED or not isinstance(volume, RawPlanes):
            return volume
        data = FileBytes(self.path)
        head = bytearray(30)
        data.fetch(member.header_offset, memoryview(head))
        # the local header has a name and an extra field of its own lengths
        lengths = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        return NpzPlanes(volume, data, member.header_offset + 30 + lengths + start)

    def _open(self, key: str, header_only: bool) -> NDArray:
        member = self._members[key]
        name = f"{self.path}[{key}]"
        # of other methods a few bytes may unpack to gigabytes, which Python's zipfile does at one time
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ModelError(f"{name} is neither stored nor deflated", "store the array again", code="E224")
        # deflate cannot expand more than about 1030 times: anything beyond is a lie or a bomb
        if member.file_size > 2000 * max(member.compress_size, 1) + 1000:
            raise ModelError(f"{name} claims {human(member.file_size)}", "store the array again", code="E224")
        try:
            with self._zip.open(member) as stream:
                # a header may say that it has gigabytes
                shape, dtype, _ = _header(io.BytesIO(stream.read(_MOST_TEXT)), name)
                need = math.prod(shape) * dtype.itemsize
                if need > member.file_size:
                    raise ModelError(
                        f"{name} announces {need} bytes and holds {member.file_size}",
                        "store it again",
                        code="E223",
                    )
                if header_only:
                    return np.broadcast_to(np.zeros((), dtype), shape)
            require(2 * need, f"{name} {shape}", "cut or resample it; its shape may be damaged", "E613")
            with self._zip.open(member) as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)
        except SubsaltError:
            raise
        except _DAMAGED as e:
            raise _unreadable(name, e) from e

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def grid_file(path: str | os.PathLike[str]) -> Path:
    """Return the name of the side file that says where the array of a ``.npy`` file lies."""
    return as_path(f"{os.fspath(path)}.json")


def write_npy(
    path: str | os.PathLike[str], grid: Grid, values: NDArray | OwnPlanes, label: VolumeLabel
) -> None:
    """Write values as ``NAME.npy``, and where they lie as ``NAME.npy.json``; collective when every rank has planes."""
    own = OwnPlanes.of(values)
    a = np.ascontiguousarray(own.values)
    head = io.BytesIO()
    described = {
        "descr": np.lib.format.dtype_to_descr(a.dtype),
        "fortran_order": False,
        "shape": grid.shape,
    }
    np.lib.format.write_array_header_1_0(head, described)
    plane = math.prod(grid.shape[1:]) * a.itemsize
    with write_together(path, own.comm, head.tell() + grid.shape[0] * plane) as f:
        if own.comm.is_root:
            f.write_at(0, head.getvalue())
        f.write_at(head.tell() + own.first * plane, raw_bytes(a))
    with own.comm.together():
        if own.comm.is_root:
            write_grid_file(path, grid, label.frame)


def write_npz_volume(path: str | os.PathLike[str], grid: Grid, values: NDArray, label: VolumeLabel) -> None:
    """Write values with their spacing, origin, axes, frame and provenance."""
    frame = label.frame
    arrays: dict[str, NDArray] = {
        label.name: values,
        "spacing_m": np.array(grid.spacing),
        "origin_m": np.array(grid.origin),
        "axes": np.array(["x", "z"] if grid.ndim == 2 else ["x", "y", "z"]),
        "frame": np.array([frame.x0, frame.y0, frame.azimuth, float(frame.flip)]),
        "provenance": np.array("\n".join(label.text)),
    }
    write_npz(path, arrays)


def write_grid_file(path: str | os.PathLike[str], grid: Grid, frame: Frame) -> None:
    """Write the side file of ``NAME.npy``, ``NAME.npy.json``: shape, spacing, origin, axes and frame."""
    said = {
        "shape": grid.shape,
        "spacing_m": grid.spacing,
        "origin_m": grid.origin,
        "axes": ["x", "z"] if grid.ndim == 2 else ["x", "y", "z"],
        "frame": [frame.x0, frame.y0, frame.azimuth, int(frame.flip)],
    }
    publish_text(grid_file(path), json.dumps(said) + "\n")


def read_grid_file(path: str | os.PathLike[str], shape: tuple[int, ...]) -> dict[str, list[float]]:
    """Return ``spacing_m``, ``origin_m`` and ``frame`` of the side file of an array; empty when there is none.

    Raises
    ------
    ModelError
        When the file is not ours or names an array of another shape.
    """
    beside = grid_file(path)
    if not beside.is_file():
        return {}
    with InputFile(beside, ModelError) as file:
        text = file.read_at(0, min(file.size, _MOST_TEXT))
    try:
        said = json.loads(text)
        if "frame" not in said:
            return {}  # an image in time, which lies by its line numbers
        facts = {k: [float(v) for v in said[k]] for k in ("spacing_m", "origin_m", "frame")}
        like = [int(n) for n in said["shape"]]
    except (ValueError, TypeError, KeyError, RecursionError) as e:
        raise ModelError(
            f"{beside} does not say where {path} lies: {str(e)[:200]}",
            "export the array again, or remove this file and give spacing and origin in the job",
            code="E224",
        ) from e
    if tuple(like) != shape or len(facts["frame"]) != 4:
        raise ModelError(
            f"{beside} describes an array {tuple(like)}, {path} holds {shape}",
            "export the array again, or remove this file and give spacing and origin in the job",
            code="E224",
        )
    return facts


def write_npz(path: str | os.PathLike[str], arrays: dict[str, NDArray]) -> None:
    """Write arrays as ``.npz`` (deflated); the bytes do not depend on time or machine."""
    with (
        atomic_write(path) as f,
        zipfile.ZipFile(f, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=6) as z,
    ):
        for key, values in arrays.items():
            a = np.asarray(values)
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(a) if a.ndim else a, allow_pickle=False)
            # the default date is the one fixed date a zip entry can have
            z.writestr(zipfile.ZipInfo(f"{key}.npy"), buffer.getbuffer(), compress_type=zipfile.ZIP_DEFLATED)
