"""The land line of `subsalt example` with fewer shots: modelling all of them takes most of the time of its tests."""

from pathlib import Path

import pytest

from once import once
from subsalt.examples import land
from subsalt.io.publish import make_folder
from subsalt.methods.rtm.job import Job
from thorough import ALL

ALL_SHOTS = "shots = { first = [200, 0], last = [2800, 0], n = 14 }"
IN_THE_MIDDLE = "shots = { first = [1400, 0], last = [1600, 0], n = 2 }"
#: shots of the line: all of them in ``make test-all``
LAND_SHOTS = 14 if ALL else 2


def shorten_the_land_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the line have the two shots in its middle, but for ``make test-all``; they are modelled once."""
    assert ALL_SHOTS in land.MODEL_JOB
    monkeypatch.setattr(
        land, "MODEL_JOB", land.MODEL_JOB.replace(ALL_SHOTS, ALL_SHOTS if ALL else IN_THE_MIDDLE)
    )
    model_job = land.model_job

    def modelled(job: Job, folder: Path) -> None:
        def model() -> dict[str, bytes]:
            model_job(job, folder)
            return {path.name: path.read_bytes() for path in folder.iterdir()}

        for name, content in once("shots of the land line", model).items():
            (make_folder(folder) / name).write_bytes(content)

    monkeypatch.setattr(land, "model_job", modelled)
