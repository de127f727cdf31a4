"""Shared memory of ranks that were killed: removed when it is noted, ours, of this machine, and nobody uses it."""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path

import pytest

from subsalt.parallel.comm import world
from subsalt.parallel.shared_memory import mapped, remove_left
from subsalt.run import leftovers
from subsalt.run.leftovers import NAME, noted_memory

NAMES = ("mpich_shm_0a1b2c3d_0", "vader_segment.host.1000.5.0", "sm_segment.host.1000.5.0")


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    folder = tmp_path / "shm"
    folder.mkdir()
    for name in (*NAMES, "mpich_shm_0a1b2c3d_1", "somebody's", "mpich_shm_0a1b2c3d_0.txt"):
        (folder / name).write_bytes(bytes(mmap.PAGESIZE))
    return folder


def test_only_files_of_mpi_that_nobody_uses_go(memory: Path) -> None:
    (memory / "mpich_shm_00000000_0").symlink_to(memory / "somebody's")
    wanted = [
        *NAMES,
        "mpich_shm_00000000_0",
        "somebody's",
        "../shm/mpich_shm_0a1b2c3d_1",
        "mpich_shm_0a1b2c3d_0.txt",
    ]
    with open(memory / NAMES[0], "r+b") as file, mmap.mmap(file.fileno(), 0):
        assert mapped(folder=memory) == [NAMES[0]]
        assert remove_left(wanted, memory) == sorted(NAMES[1:])
    assert remove_left(wanted, memory) == [NAMES[0]]
    assert sorted(os.listdir(memory)) == sorted(
        ["mpich_shm_00000000_0", "mpich_shm_0a1b2c3d_0.txt", "mpich_shm_0a1b2c3d_1", "somebody's"]
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_files_of_others_stay(memory: Path) -> None:
    os.chown(memory / NAMES[0], 12345, -1)
    assert remove_left(NAMES, memory) == sorted(NAMES[1:])


def test_what_the_start_before_noted_goes(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    monkeypatch.setattr(leftovers, "remove_left", lambda names: removed.extend(names))
    monkeypatch.setattr(leftovers, "mapped", lambda: [NAMES[1]])
    here = {"host": leftovers.platform.node(), "boot": leftovers.boot_id()}
    notes = [
        {**here, "names": [NAMES[0], 5]},
        {**here, "boot": "before", "names": ["x"]},
        {**here, "names": 3},
        [],
    ]
    (tmp_path / NAME).write_text(json.dumps(notes))

    def killed() -> None:
        with noted_memory(tmp_path, world()):
            assert json.loads((tmp_path / NAME).read_text()) == [{**here, "names": [NAMES[1]]}]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        killed()
    assert removed == [NAMES[0]]
    with noted_memory(tmp_path, world()):
        assert removed == [NAMES[0], NAMES[1]]
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("text", ["", "{}", "[[[", "3", "[null]", "\\xff"])
def test_a_damaged_note_stops_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with noted_memory(tmp_path, world()):
        pass
    assert (
        not json.loads((tmp_path / NAME).read_text()) if (tmp_path / NAME).exists() and text == "{}" else True
    )
