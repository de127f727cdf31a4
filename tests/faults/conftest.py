"""A small survey, an undisturbed run of it, and what strikes the command."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import strikes
from small_run import MIGRATE, make
from struck_survey import Case


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """The survey in a folder of its own, with the job that a module names JOB and the lines that its MORE adds."""
    folder = Path(tempfile.mkdtemp(prefix="subsalt-faults-", dir=strikes.ROOT)).resolve()
    try:
        shim = strikes.build(folder)
        if shim is None:
            pytest.skip("no C compiler for the shim that strikes")
        more = getattr(request.module, "MORE", "").replace("FOLDER", str(folder))
        job = make(folder, more, getattr(request.module, "JOB", MIGRATE))
        with strikes.Striker(folder, shim) as striker:
            yield Case(folder, job, striker)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
