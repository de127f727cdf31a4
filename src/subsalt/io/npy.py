"""NumPy files: models in NPZ (arrays with spacing_m, origin_m, axes) and bare arrays in NPY. Never a
pickle.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ModelError
from subsalt.io.files import InputFile
from subsalt.io.publish import atomic_write, human

#: arrays beyond this are not models of a machine this runs on: a bound for what a hostile header may claim
_LARGEST = 1 << 42


def _header(stream: object, name: str) -> tuple[tuple[int, ...], np.dtype]:
    try:
        version = np.lib.format.read_magic(stream)  # type: ignore[arg-type]
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(stream)  # type: ignore[arg-type]
    except Exception as e:
        raise ModelError(f"{name} is not a NumPy array: {str(e)[:200]}", "check the file", code="E224") from e
    if dtype.hasobject:
        raise ModelError(
            f"{name} holds Python objects (a pickle), which are never read", "store numbers", code="E224"
        )
    if dtype.kind not in "fiubUS" or math.prod(shape) * max(dtype.itemsize, 1) > _LARGEST:
        raise ModelError(f"{name} is {dtype} of shape {shape}", "store float32 numbers", code="E224")
    return shape, dtype


def read_npy(path: str | os.PathLike[str]) -> NDArray:
    """Read a ``.npy`` array; its size is checked against the file before anything is allocated."""
    name = Path(path)
    with InputFile(name, ModelError) as file, os.fdopen(os.dup(file.fd), "rb") as stream:
        shape, dtype = _header(stream, str(name))
        need = math.prod(shape) * dtype.itemsize
        have = file.size - stream.tell()
        if have < need:
            raise ModelError(
                f"{name} announces {need} bytes of data ({' x '.join(map(str, shape))} {dtype}) and holds "
                f"{have}",
                "copy the file anew",
                code="E223",
            )
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)


class NpzFile:
    """The arrays of an ``.npz`` file, each read when asked for and checked before it is allocated."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with InputFile(self.path, ModelError) as file:
            self.size = file.size
        try:
            self._zip = zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as e:
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

    def _open(self, key: str, header_only: bool) -> NDArray:
        member = self._members[key]
        name = f"{self.path}[{key}]"
        # deflate cannot expand more than about 1030 times: anything beyond is a lie or a bomb
        if member.file_size > 2000 * max(member.compress_size, 1) + 1000:
            raise ModelError(f"{name} claims {human(member.file_size)}", "store the array anew", code="E224")
        try:
            with self._zip.open(member) as stream:
                shape, dtype = _header(stream, name)
                need = math.prod(shape) * dtype.itemsize
                if need > member.file_size:
                    raise ModelError(
                        f"{name} announces {need} bytes and holds {member.file_size}",
                        "store it anew",
                        code="E223",
                    )
                if header_only:
                    return np.broadcast_to(np.zeros((), dtype), shape)
            with self._zip.open(member) as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)
        except ModelError:
            raise
        except Exception as e:  # zipfile and zlib raise half a dozen unrelated types on damaged files
            raise ModelError(
                f"{name} cannot be read: {str(e)[:200]}", "copy the file anew", code="E224"
            ) from e

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
