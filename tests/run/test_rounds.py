"""Rounds: each begins with the published result of the one before; stopped anywhere, the same bytes come out."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from launch import needs_mpi, run
from rounds_case import ROUNDS, SIZE, UNITS, FixedPoint, expected, iterate

from subsalt.errors import CorruptionError
from subsalt.io.event_log import read_events
from subsalt.io.faults import set_fault
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import peek
from subsalt.run.progress import lines, view_of
from subsalt.run.quarantine import read_record
from subsalt.run.resume import ResumeOptions
from subsalt.run.settings import NAME
from subsalt.run.stop_request import RunStopped
from thorough import sample, some

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the hash of what an undisturbed run makes."""
    return iterate(tmp_path_factory.mktemp("whole") / "run").sha256


def test_every_round_is_made_of_the_one_before(tmp_path: Path, whole: str) -> None:
    rounds: list[tuple[float, float, str]] = []
    done = iterate(tmp_path / "run", progress=lambda *now: rounds.append(now))
    assert np.load(done.image).tobytes() == expected().tobytes()
    assert (done.sha256, done.shots_done, done.shots_failed) == (whole, [1, 2, 3, 4, 5], [])
    # progress counts all rounds, and says which one it is
    assert [now for now in rounds if now[2]][0::UNITS] == [
        (k * UNITS, ROUNDS * UNITS, f"round {k}, shot 1") for k in range(ROUNDS)
    ]
    assert rounds[-1][:2] == (ROUNDS * UNITS, ROUNDS * UNITS)
    rows = peek(tmp_path / "run")
    assert [(r["round"], r["id"]) for r in rows] == [
        (k, i) for k in range(ROUNDS) for i in range(1, UNITS + 1)
    ]
    log = read_events(tmp_path / "run").known
    assert [(e["round"], e["shot"]) for e in log if e["event"] == "done"] == [
        (r["round"], r["id"]) for r in rows
    ]
    assert [(e["round"], e["size"]) for e in log if e["event"] == "round"] == [
        (k, SIZE) for k in range(ROUNDS)
    ]
    view = view_of(tmp_path / "run")
    assert (view.shots["total"], view.shots["done"], view.round) == (ROUNDS * UNITS, ROUNDS * UNITS, 2)
    assert view.to_dict()["round"] == 2
    assert "round     2" in lines(view)
    # partial results of closed rounds are gone
    assert not list((tmp_path / "run" / "images").iterdir())
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert len(facts["shots"]) == ROUNDS * UNITS
    # nothing is done again
    assert iterate(tmp_path / "run").sha256 == whole
    assert {r["attempt"] for r in peek(tmp_path / "run")} == {1}


def forked(run: Path, strike: str = "", count: int = 0) -> tuple[int, list[str]]:
    """Iterate in a fork that ends at a named file operation (what is done to which file, and its number among these),
    or at an operation by its number; return the exit code, and the names of all operations that were done.
    """
    run.parent.mkdir(exist_ok=True)
    said, seen = run.parent / "said", Counter[str]()
    child = os.fork()
    if child == 0:
        with said.open("w", buffering=1) as lines:

            def hook(operation: str, path: object, nbytes: int) -> None:
                path = Path(str(path))
                if operation == "read" or path.name == "progress.json" or run.parent not in path.parents:
                    return
                # the middle of a temporary name is drawn at random
                parts = path.name.split(".")
                plain = path.with_name(".".join([*parts[:-2], "tmp"]) if parts[-1] == "tmp" else path.name)
                name = f"{operation} {plain.relative_to(run) if run in path.parents else plain.name}"
                seen[name] += 1
                print(f"{name} {seen[name]}", file=lines)
                if strike == f"{name} {seen[name]}" or seen.total() == count:
                    os.kill(os.getpid(), signal.SIGKILL)

            set_fault(hook)
            try:
                iterate(run)
                os._exit(0)
            finally:
                os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, said.read_text().splitlines()


def test_killed_inside_and_between_rounds_it_goes_on_to_the_same_bytes(tmp_path: Path, whole: str) -> None:
    code, points = forked(tmp_path / "points" / "run")
    assert code == 0
    # the result of a round, what follows it, partial results, and some of the others
    between = [p for p in points if "rounds/" in p or "images/round_001" in p or "/x_001" in p]
    few = sample(3, 7)
    named = [next(p for p in points if name in p) for name in ("x_001", "unit_")]
    spread = [*between[:: max(1, len(between) // few)], *points[:: len(points) // few]]
    chosen = list(dict.fromkeys([*named, *spread]))
    assert len(chosen) >= 2 * few - 1
    for i, point in enumerate(chosen):
        run = tmp_path / str(i) / "run"
        assert forked(run, point)[0] == -signal.SIGKILL, point
        # once more while it goes on, then to the end
        forked(run, count=5 + 6 * (i % 5))
        assert iterate(run).sha256 == whole, point
        # each of the two kills costs the unit under way at most
        assert sum(r["attempt"] > 1 for r in peek(run)) <= 2


#: what every rank runs: rank 0 ends at a named point of the method
ON_RANKS = """
    import os, signal, sys
    from pathlib import Path
    sys.path.insert(0, {here!r})
    from rounds_case import FixedPoint, iterate
    from subsalt.io.faults import set_fault
    from subsalt.parallel.comm import world
    def hook(operation, path, nbytes):
        if operation == {operation!r} and str(path).endswith({name!r}) and world().rank == {rank}:
            os.kill(os.getpid(), signal.SIGKILL)
    set_fault(hook)
    print(iterate(Path({folder!r})).sha256)
"""
#: operation on a file, and the rank that is killed there
POINTS = [
    ("rename", "round_000/unit_3.npy", None),  # inside the first round, by whichever rank
    ("rename", "rounds/x_000.npy", 0),  # all units of the first round are done, its result is not
    ("mkdir", "round_001", 0),  # between two rounds
    ("rename", "round_002/unit_5.npy", None),
    ("rename", "image.npy", 0),  # behind the last round
]


@needs_mpi
@pytest.mark.parametrize(("operation", "name", "rank"), some(POINTS, 2))
def test_killed_on_ranks_it_goes_on_on_others(
    tmp_path: Path, whole: str, operation: str, name: str, rank: int | None
) -> None:
    def on(ranks: int, name: str) -> object:
        where = "world().rank" if rank is None else str(rank)
        return run(
            ranks,
            ON_RANKS.format(
                here=str(HERE), operation=operation, name=name, rank=where, folder=str(tmp_path / "run")
            ),
        )

    struck = on(3, name)
    assert struck.rc not in (0, None), struck
    assert not (tmp_path / "run" / "image.npy").exists()
    for ranks in some((2, 1), 1):
        done = on(ranks, "nowhere")
        assert done.rc == 0, done
        assert done.out == [f"{whole}\n"] * ranks
    assert {r["state"] for r in peek(tmp_path / "run")} == {"done"}


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
@pytest.mark.parametrize("number", [0, 2])
def test_a_damaged_result_of_a_round_is_computed_again(
    tmp_path: Path, whole: str, damage: str, number: int
) -> None:
    iterate(tmp_path / "run")
    path = tmp_path / "run" / "rounds" / f"x_{number:03d}.npy"
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if damage == "changed" else data[:-8])
    said: list[str] = []
    assert iterate(tmp_path / "run", say=said.append).sha256 == whole
    assert said == [
        f"rounds/x_{number:03d}.npy: the result of round {number} is damaged; the round is computed again"
    ]
    assert path.read_bytes() == data
    # the other rounds were not
    assert [r["attempt"] for r in peek(tmp_path / "run")] == [
        1 + (k == number) for k in range(ROUNDS) for _ in range(UNITS)
    ]


class Superseding(FixedPoint):
    """Of which a round needs what the round before has made, and nothing older."""

    def close_round(self):
        end = super().close_round()
        k = self.state.round
        before = [self.state.folder / f"rounds/x_{k - 1:03d}.npy"] if k else []
        return replace(end, superseded=before)


def there(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "rounds").iterdir())


def damage(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_what_later_rounds_do_not_read_is_removed_but_for_the_last(tmp_path: Path, whole: str) -> None:
    """The last round is computed again from the one before it; where that is gone too, all are."""
    run = tmp_path / "run"
    assert iterate(run, Superseding).sha256 == whole
    assert there(run) == ["x_001.npy", "x_002.npy"]
    # nothing reads it any more
    damage(run / "rounds/x_001.npy")
    said: list[str] = []
    assert iterate(run, Superseding, say=said.append).sha256 == whole
    assert said == []
    damage(run / "rounds/x_002.npy")
    assert iterate(run, Superseding, say=said.append).sha256 == whole
    assert said == [
        "rounds/x_002.npy: the result of round 2 is damaged, and so is what it was made of; rounds 0 to 2 are computed "
        "again"
    ]
    assert there(run) == ["x_001.npy", "x_002.npy"]
    damage(run / "rounds/x_002.npy")
    assert iterate(run, Superseding, say=said.append).sha256 == whole
    assert said[1:] == ["rounds/x_002.npy: the result of round 2 is damaged; the round is computed again"]
    assert [r["attempt"] for r in peek(run) if r["id"] == 1] == [2, 2, 3]


@pytest.mark.parametrize("name", ["rounds/x_000.npy", "ledger.json"])
def test_killed_while_files_are_removed_it_removes_them_later(tmp_path: Path, whole: str, name: str) -> None:
    """Before the first file goes the ledger knows that it may; what a kill leaves goes with the next start."""
    run, child = tmp_path / "run", os.fork()
    if child == 0:

        def hook(operation, path, nbytes):
            closed = (run / "rounds/x_002.npy").exists()
            if operation in ("unlink", "rename") and str(path).endswith(name) and closed:
                os.kill(os.getpid(), signal.SIGKILL)

        set_fault(hook)
        iterate(run, Superseding)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert "x_000.npy" in there(run)
    assert iterate(run, Superseding).sha256 == whole
    assert there(run) == ["x_001.npy", "x_002.npy"]
    assert {r["attempt"] for r in peek(run)} == {1}


def test_a_round_that_gives_another_result_is_refused(tmp_path: Path) -> None:
    class Other(FixedPoint):
        scale = 1.5

    iterate(tmp_path / "run")
    (tmp_path / "run" / "rounds" / "x_001.npy").unlink()
    with pytest.raises(
        CorruptionError, match=r"round 1, computed again, gives another rounds/x_001.npy"
    ) as caught:
        iterate(tmp_path / "run", Other)
    assert caught.value.code == "E815"


def test_units_fail_in_their_round(tmp_path: Path) -> None:
    class Failing(FixedPoint):
        fails = ((1, 3),)

    done = iterate(tmp_path / "run", Failing)
    assert np.load(done.image).tobytes() == expected({1: [3]}).tobytes()
    assert done.shots_failed == [3]
    holes = [(r["round"], r["id"]) for r in peek(tmp_path / "run") if r["state"] == "quarantined"]
    assert holes == [(1, 3)]
    log = read_events(tmp_path / "run").known
    assert [(e["event"], e["shot"], e["round"]) for e in log if "reason" in e] == [
        ("failed", 3, 1),
        ("quarantined", 3, 1),
    ]
    view = view_of(tmp_path / "run")
    assert view.quarantined == [{"shot": 3, "round": 1, "reason": "E999 it fails"}]
    assert "failed    shot 3 of round 1: E999 it fails" in lines(view)
    # later rounds were made of what the round gave: it stays closed
    again = iterate(tmp_path / "run", resume=ResumeOptions(retry_quarantined=True))
    assert again.sha256 == done.sha256


def test_a_unit_of_the_round_in_hand_is_tried_again_when_asked(tmp_path: Path, whole: str) -> None:
    class Failing(FixedPoint):
        fails = ((1, 3),)

        def close_round(self):
            if self.state.round == 1:
                raise KeyboardInterrupt
            return super().close_round()

    with pytest.raises(KeyboardInterrupt):
        iterate(tmp_path / "run", Failing)
    assert iterate(tmp_path / "run", resume=ResumeOptions(retry_quarantined=True)).sha256 == whole


def test_a_crash_counts_against_the_unit_in_its_round(tmp_path: Path, whole: str) -> None:
    class Stopped(FixedPoint):
        def units(self):
            if self.state.round == 2:
                raise KeyboardInterrupt
            units = super().units()
            return units

    class Inside(FixedPoint):
        def close_round(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        iterate(tmp_path / "run", Stopped)
    with Ledger(tmp_path / "run") as ledger:
        ledger.round = 2
        ledger.plan([1, 2, 3, 4, 5])
    note = CrashNote(tmp_path / "run", 1)
    note.round = 2
    with note:
        note.now(4)
        left = note.path.read_text()
    assert left == "4 2\n"
    note.path.write_text(left + "Fatal Python error: Aborted\n")
    with pytest.raises(KeyboardInterrupt):
        iterate(tmp_path / "run", Inside)
    assert [r["failures"] for r in peek(tmp_path / "run") if r["id"] == 4] == [0, 0, 1]
    assert read_record(tmp_path / "run", 4) == {}
    assert iterate(tmp_path / "run").sha256 == whole


def test_a_request_stops_it_between_two_rounds(tmp_path: Path, whole: str) -> None:
    class Asked(FixedPoint):
        def close_round(self):
            end = super().close_round()
            if self.state.round == 0:
                from subsalt.run.stop_request import StopRequest

                self.state.live.request = StopRequest(True, "subsalt stop")
            return end

    with pytest.raises(RunStopped, match="in hand were finished first"):
        iterate(tmp_path / "run", Asked)
    assert {r["round"] for r in peek(tmp_path / "run")} == {0}
    assert iterate(tmp_path / "run").sha256 == whole
    assert {r["attempt"] for r in peek(tmp_path / "run")} == {1}


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_rebuilt_ledger_knows_rounds(tmp_path: Path, whole: str, rounds: int) -> None:
    class Stopped(FixedPoint):
        def close_round(self):
            if self.state.round == rounds:
                raise KeyboardInterrupt
            return super().close_round()

    with pytest.raises(KeyboardInterrupt):
        iterate(tmp_path / "run", Stopped)
    rows = peek(tmp_path / "run")
    (tmp_path / "run" / NAME).write_bytes(b"junk" * 1000)
    with Ledger(tmp_path / "run") as ledger:
        assert ledger.rebuilt
        again = ledger.rows()
    same = ("round", "id", "state", "sha256")
    assert [[r[k] for k in same] for r in again] == [[r[k] for k in same] for r in rows]
    assert iterate(tmp_path / "run").sha256 == whole


def test_an_older_ledger_is_round_0(tmp_path: Path) -> None:
    """The tables of 0.9: a unit has no round. Looking at them changes nothing, opening them brings them up to date."""
    db = sqlite3.connect(tmp_path / NAME)
    db.executescript(
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE shot (id INTEGER PRIMARY KEY, place INTEGER NOT NULL, state TEXT NOT NULL, attempt INTEGER NOT "
        "NULL DEFAULT 0, seconds REAL, sha256 TEXT, reason TEXT, failures INTEGER NOT NULL DEFAULT 0, deaths INTEGER "
        "NOT NULL DEFAULT 0);"
        "INSERT INTO meta VALUES ('format', '2');"
        f"INSERT INTO shot VALUES (7, 0, 'done', 1, 2.5, '{'ab' * 32}', NULL, 0, 0);"
        "INSERT INTO shot VALUES (3, 1, 'running', 2, NULL, NULL, 'why', 1, 0);"
    )
    db.close()
    before = peek(tmp_path)
    assert [(r["id"], r["state"]) for r in before] == [(7, "done"), (3, "running")]
    with Ledger(tmp_path) as ledger:
        assert not ledger.rebuilt
        assert ledger.interrupted == [(0, 3)]
        assert ledger.hashes() == {7: "ab" * 32}
        assert ledger.get("format") == "3"
        assert ledger.rows() == [before[0], before[1] | {"state": "planned", "deaths": 1}]
        ledger.round = 1
        assert ledger.hashes() == {}
        ledger.plan([7])
        ledger.start(7)
        ledger.finish(7, "cd" * 32, 1.0)
        ledger.round = 0
        assert ledger.hashes() == {7: "ab" * 32}
