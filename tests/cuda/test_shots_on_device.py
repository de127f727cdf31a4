"""A shot on the device has the bits of the processor, wherever its scheme keeps what; either goes on for the other."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scheme_cases import CASES, bits, migrated, scheme_of, scratch_in

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Task, counts_of, tasks_of
from subsalt.kernels.cuda.arrays import DeviceArray
from subsalt.methods.rtm import executor
from thorough import ALL, sample

#: strategy and what it is given: what lies on the device, in page-locked memory, and on disk
SCHEMES = {
    "all on the device": ("store", {"snapshots_on": "device"}),
    "in host memory": ("store", {"snapshots_on": "memory"}),
    "on disk": ("store", {"snapshots_on": "disk", "chunk": 4}),
    "slots of both memories": (
        "revolve",
        {"block": 2, "memory_slots": 4, "device_slots": 2, "snapshots_on": "device"},
    ),
    "slots everywhere": (
        "revolve",
        {"block": 1, "memory_slots": 3, "device_slots": 1, "disk_slots": 2, "snapshots_on": "device"},
    ),
    "restart": ("store", {"restart_every": 30, "snapshots_on": "device", "keep": "both", "chunk": 3}),
}

#: the image of these is right to rounding only, and has the same bytes on both
BOUNDARY = {
    f"shells on {place}": ("boundary", {"snapshots_on": place}) for place in ("device", "memory", "disk")
}

#: which of them a medium tries: all places in one, one place in the others
SHELLS = {
    "iso 2-D": list(BOUNDARY),
    "vti 3-D": ["shells on memory"],
    "tti 2-D": ["shells on disk"],
}

ON_DEVICE = [name if ALL or name != "tti 3-D" else "small tti 3-D" for name in CASES if name != "reference"]

#: of so many schemes, media that don't try all of them try one
FEW = sample(len(SCHEMES), 3)


def made(case: str, name: str) -> Scheme:
    strategy, more = (SCHEMES | BOUNDARY)[name]
    return scheme_of(case, strategy, **more)


@pytest.mark.parametrize("case", ON_DEVICE)
def test_every_scheme_has_the_bytes_of_the_cpu(case: str, tmp_path: Path, gpu_device: object) -> None:
    wanted = bits(migrated(case, device="cpu"))
    assert any(any(a) for a in wanted.values())
    for number, name in enumerate(SCHEMES):
        # every scheme in one medium, one of them in each
        if case != "vti 2-D" and number % FEW != ON_DEVICE.index(case) % FEW:
            continue
        scheme, scratch = made(case, name), scratch_in(tmp_path / str(number))
        image = migrated(case, scheme, scratch, device="cuda")
        scratch.close()
        assert all(isinstance(a, np.ndarray) for a in image.sums.values())
        assert bits(image) == wanted, name
        assert image.counts == counts_of(scheme), name


@pytest.mark.parametrize("case", SHELLS)
def test_a_wavefield_that_runs_backwards_has_the_bytes_of_the_cpu(
    case: str, tmp_path: Path, gpu_device: object
) -> None:
    for name in BOUNDARY if ALL else SHELLS[case]:
        images = []
        for device in ("cpu", "cuda"):
            scratch = scratch_in(tmp_path / f"{name} {device}")
            images.append(bits(migrated(case, made(case, name), scratch, device=device)))
            scratch.close()
        assert images[0] == images[1], name


class Interrupted(Exception):
    pass


@pytest.mark.parametrize(("first", "then"), [("cpu", "cuda"), ("cuda", "cpu"), ("cuda", "cuda")])
def test_a_shot_goes_on_where_another_device_left_it(
    first: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu_device: object
) -> None:
    case = "vti 2-D"
    wanted = bits(migrated(case, device="cpu"))
    for number, (strategy, more) in enumerate(
        [
            ("store", {"restart_every": 12, "snapshots_on": "device"}),
            (
                "revolve",
                {
                    "block": 1,
                    "memory_slots": 3,
                    "device_slots": 2,
                    "disk_slots": 2,
                    "restart_every": 9,
                    "snapshots_on": "device",
                },
            ),
        ]
    ):
        scheme = scheme_of(case, strategy, **more)
        points = [i for i, task in enumerate(tasks_of(scheme)) if task.kind == "point"]
        at = points[2 * len(points) // 3] + 1

        def some(scheme: Scheme, at: int = at) -> Iterator[Task]:
            yield from islice(tasks_of(scheme), at + 1)
            raise Interrupted

        scratch = scratch_in(tmp_path / str(number))
        with monkeypatch.context() as patch:
            patch.setattr(executor, "tasks_of", some)
            with pytest.raises(Interrupted):
                migrated(case, scheme, scratch, device=first)
        scratch.close()
        scratch = scratch_in(tmp_path / str(number))
        image = migrated(case, scheme, scratch, device=then)
        scratch.close()
        assert image.resumed > 0
        assert bits(image) == wanted


def test_what_a_scheme_puts_on_the_device_is_there(
    monkeypatch: pytest.MonkeyPatch, gpu_device: object
) -> None:
    """Deep slots and snapshots are arrays of the device, the other slots of the host; the wavefields always there."""
    case, seen = "iso 2-D", {}

    class Looked(executor.Sweeps):
        def do(self, *args: object) -> None:
            seen["samples"] = list(self.samples._free)
            seen["states"] = [a for s in (self.source, self.receivers) for a in s.arrays()]
            scheme = self.scheme
            assert self.slots is not None
            seen["slots"] = {
                slot: (scheme.slot_on_device(slot), self.slots.room(slot).arrays())
                for slot in range(scheme.memory_slots)
            }
            super().do(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(executor, "Sweeps", Looked)
    scheme = scheme_of(case, "revolve", block=2, memory_slots=4, device_slots=1, snapshots_on="device")
    migrated(case, scheme, device="cuda")
    assert all(isinstance(a, DeviceArray) for a in seen["samples"] + seen["states"])
    assert sum(on_device for on_device, _ in seen["slots"].values()) == 1
    for on_device, arrays in seen["slots"].values():
        assert all(isinstance(a, DeviceArray) is on_device for a in arrays)


def test_the_pool_uses_memory_again_and_gives_it_back(gpu_device: object) -> None:
    from subsalt import kernels
    from subsalt.methods.rtm.samples import SnapshotPool

    device, pool = kernels.get("cuda"), SnapshotPool()
    first = pool.take(device, 3, (4, 5, 6), np.float32, "device")
    again = pool.take(device, 2, (4, 5, 6), np.float32, "device")
    assert first[0].pointer == again[0].pointer  # type: ignore[attr-defined]
    locked = pool.take(device, 2, (4, 5, 6), np.float32, "memory")
    assert all(isinstance(a, np.ndarray) for a in locked)
    assert all(isinstance(a, DeviceArray) and a.shape == (4, 5, 6) for a in again)
    pool.give_back("device", "memory")
    assert not pool._stores


def test_buffers_of_files_are_page_locked_as_long_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu_device: object
) -> None:
    """Copies between them and the device then run beside the computing."""
    from subsalt.kernels import cuda

    locked: list[int] = []

    def lock(array: np.ndarray) -> object:
        made = cuda.arrays.lock(array)
        # not by the bytes locked altogether: other threads give theirs back meanwhile
        assert made is not None
        assert cuda.arrays.lock(array) is None, "it was not locked"
        locked.append(array.nbytes)
        return made

    monkeypatch.setattr(cuda, "lock", lock)
    before = memory_of_host(gpu_device)
    scratch = scratch_in(tmp_path)
    migrated("iso 2-D", made("iso 2-D", "on disk"), scratch, device="cuda")
    scratch.close()
    assert locked
    gc.collect()
    # two buffers of a segment may stay for the next one
    assert memory_of_host(gpu_device) - before < sum(locked)


def memory_of_host(library: object) -> int:
    """Return the bytes of the host that are page-locked."""
    sizes = [ctypes.c_int64() for _ in range(4)]
    library.call("subsalt_cuda_allocated", *(ctypes.byref(n) for n in sizes))  # type: ignore[attr-defined]
    return sizes[2].value


def test_memory_that_cannot_be_locked_is_used_as_it_is(gpu_device: object) -> None:
    from subsalt.kernels import cuda

    array = np.zeros(1024, np.float32)
    held = cuda.lock(array)
    assert held is not None
    assert cuda.lock(array) is None  # it is locked already
    there = cuda.to_device(array + 1)
    cuda.copy(array, there)
    assert (array == 1).all()
    del held
    gc.collect()
    assert cuda.lock(array) is not None


@pytest.mark.parametrize("name", ["reference", "cpu", "cuda"])
def test_every_device_lends_its_arrays_to_the_host(name: str, emulated: object) -> None:
    """What is changed in a lent array is changed; copies go both ways; sums begin at zero."""
    from subsalt import kernels

    device = kernels.get(name)
    total = device.zeros((3, 4, 5))
    assert not device.to_host(total).any()
    with device.on_host(total) as here:
        assert isinstance(here, np.ndarray)
        here[1, 2] = np.arange(5)
    assert device.to_host(total)[1, 2].tolist() == [0, 1, 2, 3, 4]
    there = device.reserve(60).reshape(3, 4, 5)
    device.copy(there, total)
    room = device.reserve_host(60).reshape(3, 4, 5)
    device.copy(room, there)
    assert (
        room.tobytes() == device.to_host(device.to_device(room)).tobytes() == device.to_host(total).tobytes()
    )
    assert device.OWN_MEMORY is not isinstance(there, np.ndarray)
