"""Signals that wait until what is being done is whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class HeldSignals:
    """A context in which signals that stop a run are only noted; their handlers run at its end.

    A sum that a handler left in the middle could not be stored: nobody would know which traces are in it. In threads
    other than the main one, which get no signals, it does nothing.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[tuple[int, FrameType | None]] = []

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                if callable(handler := signal.getsignal(number)):
                    self._before[number] = handler
                    signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append((number, frame))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None:
            for number, frame in self._came:
                self._before[number](number, frame)
