"""A plug-in of pytest that keeps some tests of every file, spread evenly: tools that watch a GPU take minutes for all.

SUBSALT_GPU_SAMPLE=2 PYTHONPATH=benchmarks pytest -p gpu_sample tests/cuda
"""

from __future__ import annotations

import os
from itertools import groupby
from typing import Any

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave as many tests of each file as SUBSALT_GPU_SAMPLE says, after -k and -m."""
    count, items_kept = int(os.environ["SUBSALT_GPU_SAMPLE"]), []
    for _, group in groupby(items, key=lambda item: item.path):
        of_file = list(group)
        items_kept += [of_file[i * len(of_file) // count] for i in range(min(count, len(of_file)))]
    config.hook.pytest_deselected(items=[item for item in items if item not in items_kept])
    items[:] = items_kept
