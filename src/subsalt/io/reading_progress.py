"""Progress of long reads, reported to a listener: readers and rules need not pass a callback on.

A command listens (`listening`), the loops over files and rules tell (`each`, `tell`). Without a listener, nothing
happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
#: is called with done, total, what is counted (``files``) and what is done with them (``headers``)
Listener = Callable[[float, float, str, str], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
#: item, number of items, and text of the current loop
_at: ContextVar[tuple[int, int, str, str] | None] = ContextVar("at", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Tell `listener` how far it is while the block runs; None leaves who listens already."""
    if listener is None:
        yield
        return
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell(done: float, total: float, units: str, doing: str) -> None:
    """Say that `done` of `total` units, parts of one included, are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total, units, doing)


def within(share: float) -> None:
    """Say that this share of the item that `each` yielded last is finished."""
    listener, at = _listener.get(), _at.get()
    if listener is not None and at is not None:
        done, total, units, doing = at
        listener(done + share, total, units, doing)


def each(items: Sequence[T], units: str, doing: str) -> Iterator[T]:
    """Yield the items, and tell how many were."""
    try:
        for done, item in enumerate(items):
            _at.set((done, len(items), units, doing))
            tell(done, len(items), units, doing)
            yield item
    finally:
        _at.set(None)
    tell(len(items), len(items), units, doing)
