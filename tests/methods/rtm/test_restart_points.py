"""A shot that was interrupted anywhere goes on from its last restart point, with the bits of one that was not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from scheme_cases import bits, migrated, scheme_of, scratch_in

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import Task, counts_of, steps_of, tasks_of
from subsalt.checkpoint.storage import states as pieces
from subsalt.io.publish import publish_text
from subsalt.methods.rtm import executor, restart
from subsalt.methods.rtm.engine import ShotImage
from thorough import sample, some

CASE = "vti 2-D"
SCHEMES = {
    "store": scheme_of(CASE, "store", restart_every=12),
    "store on disk": scheme_of(CASE, "store", snapshots_on="disk", chunk=2, restart_every=12),
    "store, kept": scheme_of(CASE, "store", keep="both", chunk=2, restart_every=20),
    "revolve": scheme_of(CASE, "revolve", block=1, memory_slots=3, restart_every=12),
    "revolve on disk": scheme_of(CASE, "revolve", block=2, disk_slots=3, restart_every=8),
    "revolve on both": scheme_of(CASE, "revolve", block=1, memory_slots=2, disk_slots=2, restart_every=9),
    "segments": scheme_of(
        CASE, "revolve", block=1, memory_slots=2, disk_slots=9, disk_costs=(100, 100), restart_every=9
    ),
}


class Interrupted(Exception):
    pass


class Runs:
    """Runs of one shot in one folder, as processes one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, scheme: Scheme) -> None:
        self.monkeypatch, self.folder, self.scheme = monkeypatch, folder, scheme

    def until(self, task: int, case: str = CASE) -> None:
        """Run up to a task, and end as a process that is struck there."""

        def some(scheme: Scheme) -> Iterator[Task]:
            yield from islice(tasks_of(scheme), task + 1)  # the executor looks one task ahead
            raise Interrupted

        with self.monkeypatch.context() as patch:
            patch.setattr(executor, "tasks_of", some)
            with pytest.raises(Interrupted):
                self.finish(case)

    def finish(self, case: str = CASE) -> ShotImage:
        """Run to the end."""
        scratch = scratch_in(self.folder)
        try:
            return migrated(case, self.scheme, scratch)
        finally:
            scratch.close()

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.folder.rglob(pattern))


def steps_before(scheme: Scheme, task: int) -> int:
    """Return the steps that the last point before a task saves."""
    last = max((i for i, t in enumerate(islice(tasks_of(scheme), task)) if t.kind == "point"), default=-1)
    return sum(steps_of(scheme, t) for t in islice(tasks_of(scheme), last + 1))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_shot_struck_before_any_task_goes_on_with_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SCHEMES[name]
    wanted, planned = bits(migrated(CASE)), counts_of(scheme)
    assert planned.restart_points > 2
    number = sum(1 for _ in tasks_of(scheme))
    for task in range(0, number, max(1, number // sample(2, 9))):
        runs = Runs(monkeypatch, tmp_path / str(task), scheme)
        runs.until(task)
        image = runs.finish()
        assert bits(image) == wanted, task
        assert image.resumed == steps_before(scheme, task), task
        assert image.recomputed == image.storage.damaged == 0, task
        # a store in memory reads back what it had
        assert replace(image.counts, snapshots_read=0) == replace(planned, snapshots_read=0), task


def test_a_shot_struck_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in some(("revolve on both", "store on disk"), 1):
        scheme = SCHEMES[name]
        runs = Runs(monkeypatch, tmp_path / name, scheme)
        points = [i for i, t in enumerate(tasks_of(scheme)) if t.kind == "point"]
        for point in points:
            runs.until(point + 2)
        image = runs.finish()
        assert bits(image) == bits(migrated(CASE))
        assert image.counts == counts_of(scheme)


@pytest.mark.parametrize("name", ["store", "revolve on both"])
def test_the_older_point_serves_when_the_newer_one_is_damaged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SCHEMES[name]
    points = [i for i, t in enumerate(tasks_of(scheme)) if t.kind == "point"]
    before = [steps_before(scheme, p + 1) for p in points]

    def newest_described(runs: Runs) -> Path:
        return max(runs.files("restart.g*.json"), key=lambda p: json.loads(p.read_text())["generation"])

    def cut_description(runs: Runs) -> None:
        path = newest_described(runs)
        path.write_text(path.read_text()[:-20])

    def another_shot(runs: Runs) -> None:
        path = newest_described(runs)
        path.write_text(path.read_text().replace('"shot": 7', '"shot": 8'))

    def records_of_newest(runs: Runs) -> None:
        generation = json.loads(newest_described(runs).read_text())["generation"]
        for path in runs.files("restart.r00.snap"):
            data = bytearray(path.read_bytes())
            mark = (0x5374617274507431).to_bytes(8, "little") + generation.to_bytes(8, "little")
            at = data.find(mark)
            while at >= 0:
                data[at - 40] ^= 1
                at = data.find(mark, at + 8)
            path.write_bytes(bytes(data))

    for number, spoil in enumerate((cut_description, another_shot, records_of_newest)):
        runs = Runs(monkeypatch, tmp_path / str(number), scheme)
        runs.until(points[3] + 1)
        spoil(runs)
        image = runs.finish()
        assert bits(image) == bits(migrated(CASE))
        assert image.resumed == before[2], spoil.__name__


def test_a_point_that_is_half_written_spoils_none_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Struck when all of a point is there but its description: the point before it, whole, is gone on from."""
    scheme = SCHEMES["store"]
    points = [i for i, t in enumerate(tasks_of(scheme)) if t.kind == "point"]
    wanted = bits(migrated(CASE))
    for struck in (2, 3):
        runs = Runs(monkeypatch, tmp_path / str(struck), scheme)
        written: list[Path] = []

        def publish(path: Path, text: str, struck: int = struck, written: list[Path] = written) -> str:
            written.append(path)
            if len(written) > struck:
                raise Interrupted
            return publish_text(path, text)

        with monkeypatch.context() as patch:
            patch.setattr(restart, "publish_text", publish)
            with pytest.raises(Interrupted):
                runs.finish()
        image = runs.finish()
        assert bits(image) == wanted, struck
        assert image.resumed == steps_before(scheme, points[struck - 1] + 1), struck


@pytest.mark.parametrize(
    ("name", "patterns"),
    [
        ("store", ("restart*", "restart.r00.snap")),
        ("store on disk", ("source.*", "*.snap")),
        ("revolve on both", ("states.*", "restart*")),
    ],
)
def test_lost_files_are_computed_again(
    name: str, patterns: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SCHEMES[name]
    points = [i for i, t in enumerate(tasks_of(scheme)) if t.kind == "point"]
    wanted = bits(migrated(CASE))
    for number, lost in enumerate(patterns):
        runs = Runs(monkeypatch, tmp_path / str(number), scheme)
        runs.until(points[-1] + 1)
        assert runs.files(lost), lost
        for path in runs.files(lost):
            path.unlink()
        image = runs.finish()
        assert bits(image) == wanted, lost
        assert (image.resumed == 0) == (lost in ("restart*", "restart.r00.snap", "*.snap")), lost


def test_points_of_another_scheme_or_run_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SCHEMES["store"]
    runs = Runs(monkeypatch, tmp_path, scheme)
    runs.until(sum(1 for _ in tasks_of(scheme)) - 1)
    runs.scheme = replace(scheme, restart_every=16)
    image = runs.finish()
    assert (image.resumed, bits(image)) == (0, bits(migrated(CASE)))


def test_states_of_several_records_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST", 2000)
    for name in some(("revolve on both", "store"), 1):
        scheme = SCHEMES[name]
        runs = Runs(monkeypatch, tmp_path / name, scheme)
        points = [i for i, t in enumerate(tasks_of(scheme)) if t.kind == "point"]
        for point in (points[0], points[2], points[-1]):
            runs.until(point + 1)
        image = runs.finish()
        assert bits(image) == bits(migrated(CASE))
        assert image.resumed == steps_before(scheme, points[-1] + 1)
        assert replace(image.counts, snapshots_read=0) == replace(counts_of(scheme), snapshots_read=0)


def test_points_of_another_cut_and_those_without_their_checksum_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SCHEMES["store"]
    wanted, last = bits(migrated(CASE)), sum(1 for _ in tasks_of(scheme)) - 2
    for number, (changed, signed, counts) in enumerate(
        (
            ({}, True, True),
            ({"decomp": [1, 2]}, True, False),
            ({"decomp": None}, True, False),
            ({}, False, False),  # as of versions that wrote no checksum
            ({"decomp": None}, False, False),  # and before them no cut
        )
    ):
        runs = Runs(monkeypatch, tmp_path / str(number), scheme)
        runs.until(last)
        for path in runs.files("restart.g*.json"):
            stored = json.loads(path.read_text())
            check = stored.pop("check")
            assert (stored["decomp"], check) == ([1, 1], restart._check_of(stored))
            stored = {k: v for k, v in (stored | changed).items() if v is not None}
            path.write_text(json.dumps(stored | ({"check": restart._check_of(stored)} if signed else {})))
        image = runs.finish()
        assert bits(image) == wanted
        assert (image.resumed > 0) == counts, number
