"""The next shot is prepared while one is computed: the same shot, and what fails is said when it is taken."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from scheme_cases import RECORD, setup_of, shot_of

from patience import PATIENCE
from subsalt.errors import DataError
from subsalt.methods.rtm.ahead import ShotsAhead
from subsalt.methods.rtm.engine import migrate_shot
from subsalt.methods.rtm.shot_input import Traces
from subsalt.parallel.comm import single
from subsalt.timing import Phases

CASE = "iso 2-D"
SHOT = shot_of(CASE)
TRACES = np.random.default_rng(2).uniform(-1, 1, (len(SHOT.rcv), RECORD.nt)).astype(np.float32)


class Feed:
    """Traces that come when they may."""

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.may, self.taken = data, threading.Event(), []

    def prepare(self, shot: Any) -> None:
        pass

    def take(self, shot: Any) -> Traces:
        assert self.may.wait(PATIENCE)
        self.taken.append(threading.current_thread().name)
        return Traces(None, self.data)


def ahead_of(reader: Feed, *, wanted: bool = True) -> ShotsAhead:
    return ShotsAhead(setup_of(CASE), reader, single(), wanted=wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_shot_prepared_ahead_is_the_same(wanted: bool) -> None:
    plain = migrate_shot(setup_of(CASE), SHOT, TRACES)
    reader = Feed(TRACES)
    with ahead_of(reader, wanted=wanted) as shots:
        shots.begin(SHOT)  # returns at once
        reader.may.set()
        part = migrate_shot(setup_of(CASE), SHOT, shots.take(SHOT, Phases()))
    assert reader.taken == ["shots_0" if wanted else "MainThread"]
    assert {k: a.tobytes() for k, a in part.sums.items()} == {k: a.tobytes() for k, a in plain.sums.items()}


def test_what_fails_is_said_when_the_shot_is_taken_and_not_of_another() -> None:
    bad = TRACES.copy()
    bad[0, 3] = np.nan
    reader = Feed(bad)
    reader.may.set()
    other = type("Other", (), {"id": SHOT.id + 1})()
    with ahead_of(reader) as shots:
        shots.begin(SHOT)
        with pytest.raises(DataError, match="not finite"):
            shots.take(SHOT, Phases())
        shots.begin(other)  # type: ignore[arg-type]
        reader.data = TRACES
        assert shots.take(SHOT, Phases()).receivers.samples.size


def test_an_error_need_not_wait() -> None:
    reader = Feed(TRACES)
    shots = ahead_of(reader)
    shots.begin(SHOT)
    shots.__exit__(KeyboardInterrupt, None, None)
    assert not reader.taken
    reader.may.set()
