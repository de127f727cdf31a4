"""The second of several emulated GPUs, whose plug-in is called by a new thread of the host every time.

CUDA keeps the device in use per thread of the host, and a new thread has the first GPU: a function that does not choose
its GPU before it does anything else uses the first one here, and the emulation says so.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from device_states import other_device

#: functions of api.h that reach no device, or name one
NO_DEVICE = {
    "subsalt_cuda_versions",
    "subsalt_cuda_count",
    "subsalt_cuda_facts",
    "subsalt_cuda_use",
}


class InNewThreads:
    """The plug-in, each of whose functions is called in a thread of its own.

    Parameters
    ----------
    plugin : ctypes.CDLL
        The loaded library.

    Attributes
    ----------
    plugin : ctypes.CDLL
        The same.
    called : set of str
        Functions that were called.
    """

    def __init__(self, plugin: Any) -> None:
        self.plugin, self._said, self.called = plugin, b"", set[str]()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name == "subsalt_cuda_message":  # belongs to the thread of the call before
            return lambda: self._said
        function = getattr(self.plugin, name)

        def in_thread(*arguments: Any) -> Any:
            self.called.add(name)
            out: list[Any] = []

            def work() -> None:
                out.append(function(*arguments))
                self._said = self.plugin.subsalt_cuda_message()

            thread = Thread(target=work)
            thread.start()
            thread.join()
            return out[0]

        return in_thread

    def contexts(self) -> list[int]:
        """Return the devices on which this process has a context."""
        bits = ctypes.c_int64(self.plugin.subsalt_emulated_contexts()).value
        return [i for i in range(8) if bits >> i & 1]


def use_second_gpu(emulated: Any, monkeypatch: pytest.MonkeyPatch, folder: Path) -> InNewThreads:
    """Let this process compute on the second of two emulated GPUs, by calls in new threads."""
    other_device(emulated, monkeypatch, folder / "second.so", GPUS=2)
    monkeypatch.setattr(emulated._Settings, "number", 1)
    # the context is made by a thread of its own, as in a run
    emulated.begin()
    out = InNewThreads(emulated.library())
    emulated._Settings.in_use = out
    return out
