"""Where tests write into memory, and where they do not: that folder must do for them what a disk does."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import memory_folder


def test_a_folder_without_room_or_rights_is_left_alone(tmp_path: Path) -> None:
    assert "cannot be written" in (memory_folder.why_not(tmp_path / "absent") or "")
    facts = os.statvfs(tmp_path)
    much = 2 * facts.f_blocks * facts.f_frsize
    assert f"has less than {much >> 30} GB" in (memory_folder.why_not(tmp_path, much) or "")


def test_a_folder_that_starts_no_program_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = list(os.statvfs(tmp_path))
    facts[8] |= os.ST_NOEXEC
    monkeypatch.setattr(os, "statvfs", lambda folder: os.statvfs_result(facts))
    assert memory_folder.why_not(tmp_path, 0) == f"{tmp_path} lets no program start"


@pytest.mark.parametrize("why", [None, "no room"])
def test_temporary_files_go_there_unless_tmpdir_is_set(
    monkeypatch: pytest.MonkeyPatch, why: str | None
) -> None:
    monkeypatch.setattr(memory_folder, "ALL", False)
    monkeypatch.setattr(memory_folder, "why_not", lambda: why)
    monkeypatch.setattr(tempfile, "tempdir", "as before")
    monkeypatch.setenv("TMPDIR", "chosen")
    memory_folder.use_memory()
    assert os.environ["TMPDIR"] == "chosen"
    monkeypatch.delenv("TMPDIR")
    memory_folder.use_memory()
    assert os.environ.get("TMPDIR") == (None if why else str(memory_folder.MEMORY))
    assert tempfile.tempdir == ("as before" if why else None)
