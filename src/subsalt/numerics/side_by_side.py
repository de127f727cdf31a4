"""Parts of large arrays, worked on side by side by threads: NumPy's loops let go of the interpreter.

For what is prepared on the host before wavefields are stepped: it is a small part of a run on the processor, and beside
a GPU, which steps a hundred times as fast, a large one. No result depends on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

#: points of a part: enough that a thread is worth it, few enough that its temporary arrays stay in a cache
PART = 1 << 20


def default_threads() -> int:
    """Return OMP_NUM_THREADS, else the number of cores this process may use."""
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if setting.isdigit() and int(setting) > 0:
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


class _Settings:
    threads = default_threads()


def set_threads(n: int) -> None:
    """Use `n` threads from now on."""
    _Settings.threads = n


def each(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Return the results of `work` on all parts, in order."""
    todo = list(parts)
    if _Settings.threads == 1 or len(todo) < 2:
        return [work(part) for part in todo]
    with ThreadPoolExecutor(min(_Settings.threads, len(todo))) as pool:
        return list(pool.map(work, todo))


def each_as_it_comes(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Return what `work` makes of every part, in their order; the parts are made by the calling thread meanwhile.

    For parts that are read from files, one after the other. So many are made ahead that no thread waits, and no more:
    they are as large as what is read.
    """
    if _Settings.threads == 1:
        return [work(part) for part in parts]
    ahead: deque[Future[Result]] = deque()
    done: list[Result] = []
    with ThreadPoolExecutor(_Settings.threads) as pool:
        for part in parts:
            ahead.append(pool.submit(work, part))
            while len(ahead) > _Settings.threads + 1:
                done.append(ahead.popleft().result())
        done += [some.result() for some in ahead]
    return done


def cuts(n: int, size: int, part: int | None = None) -> list[slice]:
    """Return slices that cut `n` indices of an array of `size` points into parts of about `part`, or `PART`, points."""
    each_has = max(1, (part or PART) * n // max(1, size))
    return [slice(first, min(first + each_has, n)) for first in range(0, n, each_has)]
