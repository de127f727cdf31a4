"""What a disk spoils is computed again: any one record, many, all of them; the image keeps its bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scheme_cases import bits, migrated, scheme_of, scratch_in

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.checkpoint.storage import states as pieces
from subsalt.checkpoint.storage.file_store import FileStore
from subsalt.errors import SnapshotDamaged
from thorough import some

CASE = "vti 2-D"
SCHEMES = {
    "snapshots": scheme_of(CASE, "store", snapshots_on="disk", chunk=3),
    "states": scheme_of(CASE, "revolve", block=2, disk_slots=3),
    "segments": scheme_of(CASE, "revolve", block=1, memory_slots=2, disk_slots=9, disk_costs=(100, 100)),
}


def flip(path: Path, offset: int, length: int) -> None:
    with path.open("r+b") as f:
        f.seek(offset + length // 2)
        byte = f.read(1)
        f.seek(offset + length // 2)
        f.write(bytes([byte[0] ^ 4]))


def cut_short(path: Path, offset: int, length: int) -> None:
    with path.open("r+b") as f:
        f.truncate(offset + length // 2)


def emptied(path: Path, offset: int, length: int) -> None:
    with path.open("r+b") as f:
        f.truncate(0)


class Spoiler:
    """Damages the records whose turn it is, just before they are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, how: Callable[[Path, int, int], None]) -> None:
        self.how, self.turns, self.gets, self.struck = how, set[int](), 0, 0
        read = FileStore.get

        def get(store: FileStore, key: int):
            if self.gets in self.turns and key in store.keys:
                store.flush()
                _, offset, path, *_ = store.files.place(store._slots[key].number)
                self.how(path, offset, store.layout.total)
                self.struck += 1
            self.gets += 1
            return read(store, key)

        monkeypatch.setattr(FileStore, "get", get)
        monkeypatch.setattr(FileStore, "expect", lambda store, keys: None)  # what is read ahead is safe

    def migrated(self, scheme: Scheme, folder: Path, turns: set[int]):
        self.turns, self.gets, self.struck = turns, 0, 0
        scratch = scratch_in(folder)
        image = migrated(CASE, scheme, scratch)
        scratch.close()
        return image


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("how", [flip, cut_short])
def test_any_one_damaged_record_is_computed_again(
    name: str, how: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme, wanted = SCHEMES[name], bits(migrated(CASE))
    counts = counts_of(scheme)
    spoiler = Spoiler(monkeypatch, how)
    reads = counts.snapshots_read + counts.states_loaded_disk
    for turn in some(range(reads), 4):
        image = spoiler.migrated(scheme, tmp_path / str(turn), {turn})
        assert bits(image) == wanted
        assert spoiler.struck == 1
        # a file cut short may end before other records, too
        assert image.storage.damaged >= 1
        assert image.recomputed > 0
        # one more sweep at most for what one record damages
        assert how is cut_short or image.recomputed <= counts.source_steps


@pytest.mark.parametrize("name", SCHEMES)
def test_a_file_that_is_lost_costs_one_sweep_when_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = SCHEMES[name]
    image = Spoiler(monkeypatch, emptied).migrated(scheme, tmp_path, {0})
    assert bits(image) == bits(migrated(CASE))
    assert image.recomputed > 0
    if name == "snapshots":  # what lies before the first damaged piece is written anew on the way
        assert image.recomputed <= counts_of(scheme).source_steps


def test_a_disk_that_spoils_everything_delays_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = bits(migrated(CASE))
    spoiler = Spoiler(monkeypatch, flip)
    for name, scheme in SCHEMES.items():
        image = spoiler.migrated(scheme, tmp_path / name, set(range(10_000)))
        assert bits(image) == wanted
        # a bit that is flipped again is right again
        assert 3 < image.storage.damaged <= spoiler.struck, name


def test_states_of_several_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state larger than a record: any of its pieces may be the damaged one."""
    monkeypatch.setattr(pieces, "MOST", 3000)
    scheme, wanted = SCHEMES["states"], bits(migrated(CASE))
    spoiler = Spoiler(monkeypatch, flip)
    image = spoiler.migrated(scheme, tmp_path / "good", set())
    each = spoiler.gets // counts_of(scheme).states_loaded_disk
    assert each > 2
    assert bits(image) == wanted
    assert image.counts == counts_of(scheme)
    for turn in range(2 * each):
        image = spoiler.migrated(scheme, tmp_path / str(turn), {turn})
        assert bits(image) == wanted
        assert image.storage.damaged == 1


def test_a_damaged_shell_begins_the_way_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = scheme_of(CASE, "boundary", chunk=3, snapshots_on="disk")
    spoiler = Spoiler(monkeypatch, flip)
    wanted = bits(spoiler.migrated(scheme, tmp_path / "good", set()))
    for turn in range(spoiler.gets):
        image = spoiler.migrated(scheme, tmp_path / str(turn), {turn})
        assert bits(image) == wanted
        assert image.storage.damaged == 1
        assert image.recomputed > 0
        assert image.counts == counts_of(scheme)
    with pytest.raises(SnapshotDamaged, match="fails its checksum"):
        spoiler.migrated(scheme, tmp_path / "all", set(range(1000)))
