"""Finding the plug-in, refusing one that cannot be used, and arrays on the device."""

import threading
from pathlib import Path

import numpy as np
import pytest

import subsalt
from subsalt import kernels
from subsalt.errors import DeviceError
from subsalt.kernels import cuda_library
from subsalt.parallel.comm import world
from subsalt.propagation import devices


def test_no_plugin_is_no_gpu(monkeypatch):
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", "off")
    cuda_library.forget()
    availability = cuda_library.availability()
    assert availability.devices == ()
    assert "off" in availability.why
    with pytest.raises(DeviceError) as said:
        kernels.get("cuda").describe()
    assert said.value.code == "E980"
    assert said.value.exit_code == 69


def test_a_plugin_that_is_no_library_is_no_gpu(monkeypatch, tmp_path):
    wrong = tmp_path / "libsubsalt_cuda.so"
    wrong.write_bytes(b"not a library")
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(wrong))
    cuda_library.forget()
    assert cuda_library.availability().code == "E980"
    assert str(wrong) in cuda_library.availability().why
    cuda_library.forget()


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [("SUBSALT_EMULATED_GPUS", "0", "E981"), ("SUBSALT_EMULATED_DRIVER", "12040", "E982")],
)
def test_what_is_missing_is_said(emulated, monkeypatch, variable, value, code):
    monkeypatch.setenv(variable, value)
    assert emulated.availability().code == code
    with pytest.raises(DeviceError) as said:
        kernels.get("cuda").describe()
    assert said.value.code == code


def test_no_driver_at_all(emulated, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_DRIVER", "0")
    monkeypatch.setenv("SUBSALT_EMULATED_GPUS", "0")
    assert emulated.availability().why == "this machine has no driver for GPUs"


def test_a_plugin_of_another_version_is_refused(emulated, monkeypatch):
    emulated._load.cache_clear()
    monkeypatch.setattr(subsalt, "__version__", "0.0.1")
    assert emulated.availability().code == "E983"
    assert "make cuda" in emulated.availability().fix
    emulated._load.cache_clear()


class _SlowDriver:
    """The plug-in, whose driver lets a process in when it is told to, or never."""

    def __init__(self, plugin, status=0):
        self._plugin, self._status, self.may, self.asked = plugin, status, threading.Event(), []

    def __getattr__(self, name):
        return getattr(self._plugin, name)

    def subsalt_cuda_use(self, number):
        self.asked.append(threading.current_thread().name)
        assert self.may.wait(20)
        return self._status or self._plugin.subsalt_cuda_use(number)


def test_the_host_goes_on_while_the_driver_makes_its_context(emulated, monkeypatch):
    slow = _SlowDriver(emulated._load(Path(emulated.availability().plugin)))
    monkeypatch.setattr(cuda_library, "_load", lambda path: slow)
    devices.settle(world(), "cuda")
    devices.settle(world(), "cuda")  # the check has done so too
    threading.Timer(0.05, slow.may.set).start()
    assert cuda_library.allocated()["device"] >= 0  # waits for it
    assert slow.asked == ["gpu"]
    cuda_library.forget()


def test_a_context_that_cannot_be_made_is_said_once_and_by_who_needs_it(emulated, monkeypatch, capfd):
    slow = _SlowDriver(emulated._load(Path(emulated.availability().plugin)), status=46)
    slow.may.set()
    monkeypatch.setattr(cuda_library, "_load", lambda path: slow)
    devices.settle(world(), "cuda")
    cuda_library._Settings.opening.join()
    with pytest.raises(DeviceError) as said:
        cuda_library.allocated()
    assert said.value.code == "E984"
    assert slow.asked == ["gpu", "MainThread"]
    assert capfd.readouterr() == ("", "")
    cuda_library.forget()


def test_arrays_go_to_the_device_and_back(gpu_device):
    from subsalt.kernels.cuda.arrays import DeviceArray, locked

    rng = np.random.default_rng(1)
    host = rng.random((3, 4, 5), dtype=np.float32)
    there = DeviceArray(host.shape)
    assert not np.asarray(there).any()
    there[...] = host
    assert np.array_equal(np.asarray(there), host)
    assert np.array_equal(np.asarray(there[1]), host[1])
    assert np.array_equal(np.asarray(there[1:3].reshape(2, -1)), host[1:3].reshape(2, -1))
    there[2] = 0
    assert not np.asarray(there[2]).any()
    assert np.array_equal(np.asarray(there[:2]), host[:2])
    pinned = locked(host.size)
    pinned[...] = 7
    there[...] = pinned.reshape(host.shape)
    assert (np.asarray(there) == 7).all()


def test_memory_is_counted_and_given_back(gpu_device):
    import ctypes
    import gc

    from subsalt.kernels.cuda.arrays import DeviceArray

    def now():
        counts = [ctypes.c_int64() for _ in range(4)]
        cuda_library.call("subsalt_cuda_allocated", *(ctypes.byref(c) for c in counts))
        return counts[0].value

    gc.collect()
    before = now()
    made = DeviceArray((1000,))
    assert now() == before + 4000
    view = made[10:]
    del made
    gc.collect()
    assert now() == before + 4000
    del view
    gc.collect()
    assert now() == before


def test_the_plugin_of_this_tree_says_what_there_is(monkeypatch):
    """With a GPU it names it; without, it is loaded all the same and says why there is none."""
    plugin = Path(__file__).parents[2] / "build" / "cuda" / "libsubsalt_cuda.so"
    if not plugin.is_file():
        pytest.skip("the plug-in is not built (make cuda, or make cuda-check)")
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(plugin))
    cuda_library.forget()
    availability = cuda_library.availability()
    if availability.code == "E983":
        pytest.skip("the plug-in was built from another version (make cuda-check)")
    assert availability.plugin == str(plugin)
    assert not availability.emulated
    assert availability.runtime
    assert availability.devices or (availability.code in ("E981", "E982") and availability.why)
    cuda_library.forget()
