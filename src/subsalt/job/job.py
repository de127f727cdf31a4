"""The place from which pages of version 0.8 import `Job`; it is `subsalt.Job`."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "Job":
        import subsalt

        return subsalt.Job
    raise AttributeError(f"module 'subsalt.job.job' has no attribute {name!r}")
