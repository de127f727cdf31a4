"""Phases are told to MPI by numbers that stay: their table is complete, and waiting is told apart."""

from __future__ import annotations

import ast
import re
import threading
from pathlib import Path

import pytest

import subsalt
from subsalt import timing
from subsalt.methods.rtm.reuse import PARTIAL, WAVEFIELDS
from subsalt.parallel import mpi_library, waiting
from subsalt.timing import NAMES, Phases, number_of, phase_label, phase_of

ROOT = Path(subsalt.__file__).parent
#: clocks of phases, as modules call them
CLOCKS = {"clock", "phases"}
#: what stands in the text of a module that calls one
CALLED = re.compile(rf"\b(?:{'|'.join(CLOCKS)})\s*\(")
#: names that are computed: what makes them, and what they can be
COMPUTED = {
    "f'waiting for a {books.unit}'": ("waiting for a shot", "waiting for a block"),
    "record.phase": ("ledger", "setup"),
    "self.record.phase": ("ledger", "setup"),
    "self.reuse.source_of(shot.id)": (PARTIAL, WAVEFIELDS),
}
#: in profiles that are kept somewhere: a line may be added, none may change
NUMBERS = {
    "unexplained": 1000,
    "start": 1001,
    "end": 1002,
    "other phases": 1003,
    "profile": 1004,
    "check": 1005,
    "setup": 1008,
    "waiting for a shot": 1011,
    "source": 1014,
    "receivers": 1015,
    "partial image": 1021,
    "waiting for other groups": 1023,
    "image sum": 1024,
    "report": 1027,
    "trace headers": 1030,
    "sum": 1035,
    "stack": 1039,
    "progress": 1043,
}


def phases_in_source() -> set[str]:
    """Return the names of all phases that modules open, those of `COMPUTED` in the end."""
    phases: set[str] = set()
    for path in ROOT.rglob("*.py"):
        text = path.read_text("utf-8")
        if not CALLED.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.With):
                continue
            for call in (item.context_expr for item in node.items):
                if not isinstance(call, ast.Call) or len(call.args) != 1:
                    continue
                name = (
                    call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                )
                if name in CLOCKS:
                    phase = call.args[0]
                    phases |= (
                        {phase.value}
                        if isinstance(phase, ast.Constant)
                        else set(COMPUTED[ast.unparse(phase)])
                    )
    return phases


@pytest.fixture
def announced(monkeypatch):
    """What is told to MPI, without any."""
    numbers: list[int] = []
    monkeypatch.setattr(mpi_library, "_pcontrol", numbers.append)
    monkeypatch.setattr(mpi_library, "_phase", mpi_library.START)
    monkeypatch.setattr(waiting, "on_wait", mpi_library._tell_waiting)
    return numbers


def test_every_phase_of_the_source_has_a_number():
    used = phases_in_source()
    assert {"source", "receivers", "sum", "image sum", PARTIAL} <= used
    assert used <= set(NAMES), f"append to timing.NAMES: {used - set(NAMES)}"
    assert len(set(NAMES)) == len(NAMES)


def test_numbers_stay_and_lead_back_to_their_names():
    assert {name: number_of(name) for name in NUMBERS} == NUMBERS
    assert [phase_of(number_of(n)) for n in NAMES] == [(n, False) for n in NAMES]
    assert phase_label(1014) == "source"
    assert phase_label(1014 + mpi_library.WAITING) == "source, waiting"
    assert phase_of(1014 + mpi_library.WAITING) == ("source", True)
    # of other programs, and of a later version
    assert [phase_of(n) for n in (-1, 0, 2, 999, 1000 + len(NAMES), 1499, 2000, 10**6)] == [None] * 8
    assert phase_label(2) == "phase 2"
    assert number_of("") == 1000
    assert number_of("of a script") == number_of("other phases")


def test_a_phase_is_told_when_it_begins_and_the_outer_one_when_it_ends(announced):
    clock = Phases()
    with clock("source"):
        with clock("snapshots"):
            pass
        with pytest.raises(KeyError), clock("states"):
            raise KeyError
    assert announced == [number_of(n) for n in ("source", "snapshots", "source", "states", "source", "")]


def test_waiting_is_told_only_beyond_the_quick_looks(announced):
    looks = iter([False] * (waiting.QUICK - 1) + [True])
    clock = Phases()
    with clock("receivers"):
        waiting.wait(lambda: next(looks))
        assert announced == [1015]
        looks = iter([False] * (waiting.QUICK + waiting.BURST) + [True])
        waiting.wait(lambda: next(looks))
        assert announced == [1015, 1515, 1015]
        looks = iter([False] * (waiting.QUICK + 1))
        with pytest.raises(StopIteration):  # a look that fails ends the waiting as well
            waiting.wait(lambda: next(looks))
    assert announced == [1015, 1515, 1015, 1515, 1015, 1000]


def test_other_threads_tell_nothing(announced):
    def work():
        with Phases()("trace input"):
            looks = iter([False] * 100 + [True])
            waiting.wait(lambda: next(looks))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert announced == []


def test_nothing_is_told_where_mpi_does_not_run(monkeypatch):
    monkeypatch.setattr(mpi_library, "_phase", 0)
    assert mpi_library._pcontrol is None
    assert waiting.on_wait is None
    with Phases()("source"):
        # kept for MPI that starts inside of a phase
        assert mpi_library._phase == 1014


def test_the_rows_sum_to_the_wall_also_inside_of_a_phase(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def passes(seconds: float) -> None:
        now[0] += seconds

    clock = Phases()
    passes(0.5)
    with clock("setup"):
        passes(2.0)
        with clock("ledger"):
            passes(1.0)
            inside = clock.table()
        passes(4.0)
    passes(0.25)
    # eighths of seconds: no sum is rounded
    assert inside == {"setup": 2.0, "ledger": 1.0, "unexplained": 0.5, "wall": 3.5}
    assert clock.table() == {"setup": 6.0, "ledger": 1.0, "unexplained": 0.75, "wall": 7.75}
