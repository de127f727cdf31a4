"""Lets the tests of the lab compile into a cache of their own, which stays: an interposer takes seconds."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_cache():
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(Path(__file__).parents[2] / "build" / "test-cache")
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
