"""Arrays in the memory of a GPU, and page-locked arrays of the host, whose copies overlap with kernels.

Ghost planes travel between a GPU and MPI directly, or through page-locked memory of the host.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DeviceError
from subsalt.kernels.cuda_library import call, library, pointers


class _Memory:
    """Owns memory of the GPU."""

    def __init__(self, nbytes: int, *, zeroed: bool) -> None:
        out = pointers([None])
        call("subsalt_cuda_allocate", out, nbytes, int(zeroed))
        self.pointer: int = out[0] or 0
        if self.pointer:
            weakref.finalize(self, library().subsalt_cuda_release, self.pointer).atexit = False


class DeviceArray:
    """A contiguous array on the GPU, with as much of NumPy's interface as states and images need.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : dtype
        Type of its numbers.
    zeroed : bool
        Zeros, else left open.
    """

    __array_priority__ = 100  # NumPy must not take it apart number by number

    def __init__(self, shape: tuple[int, ...], dtype: Any = np.float32, *, zeroed: bool = True) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self._memory = _Memory(self.nbytes, zeroed=zeroed)
        self._offset = 0

    @classmethod
    def _view(cls, memory: _Memory, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        out = cls.__new__(cls)
        out.shape, out.dtype, out._memory, out._offset = shape, dtype, memory, offset
        return out

    @property
    def pointer(self) -> int:
        """Address on the GPU; 0 for an array without numbers."""
        return self._memory.pointer + self._offset if self._memory.pointer else 0

    @property
    def size(self) -> int:
        """Numbers."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Axes."""
        return len(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Lets libraries that know GPUs (mpi4py, CuPy) take it as it is."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "version": 3,
            "strides": None,
        }

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """Return a copy on the host."""
        out: NDArray = np.empty(self.shape, dtype=self.dtype)
        move(out, self)
        return out if dtype is None else out.astype(dtype)

    def __getitem__(self, index: Any) -> DeviceArray:
        """Return a view: of one leading index, of a slice of them, or (``...``) of everything."""
        if index is Ellipsis:
            return self._view(self._memory, self._offset, self.shape, self.dtype)
        rest = self.nbytes // self.shape[0] if self.shape[0] else 0
        if isinstance(index, slice):
            first, last, step = index.indices(self.shape[0])
            if step != 1:
                raise IndexError("a device array has slices of neighbours only")
            return self._view(
                self._memory,
                self._offset + first * rest,
                (max(0, last - first), *self.shape[1:]),
                self.dtype,
            )
        at = int(index)
        if not -self.shape[0] <= at < self.shape[0]:
            raise IndexError(f"index {at} of {self.shape[0]}")
        at %= self.shape[0]
        return self._view(self._memory, self._offset + at * rest, self.shape[1:], self.dtype)

    def __setitem__(self, index: Any, values: Any) -> None:
        """Write zero, or an array of the same shape from the host or the GPU, over a view."""
        target = self[index]
        if isinstance(values, DeviceArray | np.ndarray):
            move(target, values)
        else:
            target.fill(values)

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return a view of another shape."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if -1 in wanted:
            known = -math.prod(wanted)
            wanted = tuple(self.size // known if n == -1 else n for n in wanted)
        if math.prod(wanted) != self.size:
            raise ValueError(f"an array of shape {self.shape} has no shape {wanted}")
        return self._view(self._memory, self._offset, tuple(int(n) for n in wanted), self.dtype)

    def fill(self, value: float) -> None:
        """Set all numbers to zero."""
        if value != 0:
            raise ValueError(f"device arrays are filled with 0 only, not {value}")
        if self.nbytes:
            call("subsalt_cuda_zero", self.pointer, self.nbytes)


class _LockedMemory:
    """Owns page-locked memory of the host."""

    def __init__(self, nbytes: int, dtype: np.dtype) -> None:
        out = pointers([None])
        call("subsalt_cuda_allocate_host", out, nbytes)
        self.__array_interface__ = {
            "shape": (nbytes // dtype.itemsize,),
            "typestr": dtype.str,
            "data": (out[0] or 0, False),
            "version": 3,
        }
        weakref.finalize(self, library().subsalt_cuda_release_host, out[0]).atexit = False


def locked(size: int, dtype: Any = np.float32) -> NDArray:
    """Return `size` numbers in page-locked memory of the host, contents left open."""
    if size == 0:
        return np.empty(0, dtype=dtype)
    return np.asarray(_LockedMemory(size * np.dtype(dtype).itemsize, np.dtype(dtype)))


class _Lock:
    """Memory of the host that stays page-locked as long as this lives; it keeps the memory."""

    def __init__(self, array: NDArray) -> None:
        self._array = array
        call("subsalt_cuda_lock_host", array.ctypes.data, array.nbytes)
        weakref.finalize(self, library().subsalt_cuda_unlock_host, array.ctypes.data).atexit = False


def lock(array: NDArray) -> object:
    """Page-lock an array of NumPy as long as what is returned lives, so that copies run beside the computing.

    Where the system does not allow it nothing is locked: copies then are slower, and right.
    """
    try:
        return _Lock(array) if array.nbytes else None
    except DeviceError:
        return None


def zeros(shape: Sequence[int], dtype: type = np.float32) -> DeviceArray:
    """Return an array of zeros for what the kernels add up."""
    return DeviceArray(tuple(shape), dtype)


def to_host(array: DeviceArray | NDArray) -> NDArray:
    """Return an array of the kernels as one of NumPy: a copy, or itself when it is one."""
    return array if isinstance(array, np.ndarray) else np.asarray(cast("Any", array))


def to_device(array: DeviceArray | NDArray) -> DeviceArray:
    """Return an array as one that the kernels use: itself, or a copy of one of NumPy on the GPU."""
    if isinstance(array, DeviceArray):
        return array
    out = DeviceArray(array.shape, array.dtype, zeroed=False)
    move(out, array)
    return out


@contextmanager
def on_host(array: DeviceArray) -> Iterator[NDArray]:
    """Lend an array of the kernels as one of NumPy; what is changed in it is so for the kernels afterwards."""
    here = to_host(array)
    yield here
    move(array, here)


def address(array: DeviceArray | NDArray | None) -> int | None:
    """Return where an array lies; None for None."""
    if array is None:
        return None
    return array.pointer if isinstance(array, DeviceArray) else int(array.ctypes.data)


def move(target: DeviceArray | NDArray, source: DeviceArray | NDArray) -> None:
    """Copy an array into another of as many bytes, wherever they lie; done when it returns.

    Raises
    ------
    ValueError
        When they differ in size or type, or one of the host is not contiguous and is written to.
    """
    if target.size != source.size or target.dtype != source.dtype:
        raise ValueError(
            f"an array of {source.size} {source.dtype} does not fit one of {target.size} {target.dtype}"
        )
    if isinstance(target, np.ndarray) and isinstance(source, np.ndarray):
        target[...] = source.reshape(target.shape)
        return
    if isinstance(source, np.ndarray):
        source = np.ascontiguousarray(source)
    if isinstance(target, np.ndarray) and not target.flags.c_contiguous:
        target[...] = np.asarray(cast("Any", source)).reshape(target.shape)
        return
    if target.size:
        call("subsalt_cuda_copy", address(target), address(source), target.nbytes)


class CudaGhostPlanes:
    """The blocks of planes of one time level on a GPU that are exchanged, a `subsalt.kernels.device.GhostPlanes`.

    Nothing here waits: `leave` and `arrive` queue copies that overlap with kernels, `left` tests whether they are done.

    Parameters
    ----------
    sent, received : sequence of DeviceArray
        Contiguous blocks of planes, by link.
    by_mpi : bool
        Whether MPI reads and writes them on the GPU itself.
    """

    def __init__(self, sent: Sequence[DeviceArray], received: Sequence[DeviceArray], by_mpi: bool) -> None:
        self.on_host = not by_mpi
        self._planes = [*sent, *received]  # what is copied must not go away before
        self.sent: Sequence[Any] = sent if by_mpi else [_room(a) for a in sent]
        self.received: Sequence[Any] = received if by_mpi else [_room(a) for a in received]
        out = pointers([None])
        call(
            "subsalt_cuda_halo",
            len(sent),
            pointers([a.pointer for a in sent]),
            pointers([a.pointer for a in received]),
            None if by_mpi else pointers([address(a) for a in self.sent]),
            None if by_mpi else pointers([address(a) for a in self.received]),
            _sizes(sent),
            _sizes(received),
            out,
        )
        self.pointer = out[0]
        # before the rooms go: copies in flight end first
        self.free = weakref.finalize(self, library().subsalt_cuda_free_halo, self.pointer)
        self.free.atexit = False

    def leave(self) -> None:
        """Queue the copy of the planes to send to page-locked memory, after all kernels queued so far."""
        call("subsalt_cuda_halo_leave", self.pointer)

    def left(self) -> bool:
        """Return whether it is there; raises when the GPU has failed."""
        there = ctypes.c_int32()
        call("subsalt_cuda_halo_left", self.pointer, ctypes.byref(there))
        return bool(there.value)

    def arrive(self) -> None:
        """Queue the copy of the received planes to the GPU; kernels queued from now on wait for it."""
        call("subsalt_cuda_halo_arrive", self.pointer)


def _room(planes: DeviceArray) -> Any:
    """Return page-locked memory for some planes."""
    return locked(planes.size, planes.dtype).reshape(planes.shape)


def _sizes(arrays: Sequence[DeviceArray]) -> Any:
    """Return the bytes of arrays as the plug-in takes them."""
    return (ctypes.c_int64 * max(1, len(arrays)))(*(a.nbytes for a in arrays))
