"""Claimed folders: no way through a link, whichever function is asked, and nothing of other users is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from subsalt.errors import CannotCreateError
from subsalt.io import own, scratch
from subsalt.io.input_file import InputFile
from subsalt.io.publish import (
    append_line,
    atomic_write,
    make_folder,
    publish_array,
    publish_folder,
    publish_text,
    remove,
    remove_leftovers,
    show_text,
    sync_folder,
)
from subsalt.io.shared_file import write_together
from subsalt.parallel.comm import single


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """A claimed folder with a link in it; and what the link leads to."""
    theirs = tmp_path / "theirs"
    (theirs / "inner").mkdir(parents=True)
    (theirs / "data").write_text("years of work")
    (theirs / ".data.0123456789ab.tmp").write_text("as a temporary file")
    root = tmp_path / "root"
    (root / "ours").mkdir(parents=True)
    (root / "ours" / "link").symlink_to(theirs)
    own.claim(root, ["ours"])
    return root / "ours" / "link", theirs


def contents(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in folder.rglob("*") if p.is_file()}


def write_shared(path: Path) -> None:
    with write_together(path, single(), 4) as part:
        part.write_at(0, b"data")


def write_atomic(path: Path) -> None:
    with atomic_write(path) as file:
        file.write(b"data")


def write_folder(path: Path) -> None:
    with publish_folder(path) as made:
        (made / "x").write_text("x")


WAYS: dict[str, Callable[[Path], object]] = {
    "atomic_write": lambda link: write_atomic(link / "data"),
    "publish_text": lambda link: publish_text(link / "data", "new"),
    "publish_array": lambda link: publish_array(link / "new", np.zeros(3)),
    "write_together": lambda link: write_shared(link / "data"),
    "append_line": lambda link: append_line(link / "data", "line"),
    "make_folder": lambda link: make_folder(link / "new"),
    "make_folder itself": make_folder,
    "sync_folder": sync_folder,
    "read": lambda link: InputFile(link / "data"),
    "read_text": lambda link: own.read_text(link / "data"),
    "names_in": own.names_in,
    "replace": lambda link: own.replace(link / "data", link.parent / "taken"),
    "replace into": lambda link: own.replace(link.parent / "mine", link / "data"),
    "unlink": lambda link: own.unlink(link / "data"),
    "scratch create": lambda link: scratch.create(link / "data", direct=False),
    "scratch reopen": lambda link: scratch.reopen(link / "data", direct=False),
    "scratch clear": scratch.clear_folder,
    "out of the folder": lambda link: own.unlink(link.parent / ".." / "ours" / "mine"),
}


@pytest.mark.parametrize("name", WAYS)
def test_no_way_through_a_link(place: tuple[Path, Path], name: str) -> None:
    link, theirs = place
    (link.parent / "mine").write_text("mine")
    before = contents(theirs)
    with pytest.raises(CannotCreateError) as caught:
        WAYS[name](link)
    assert caught.value.code == "E655", caught.value
    assert contents(theirs) == before


def test_what_raises_nothing_does_nothing(place: tuple[Path, Path]) -> None:
    link, theirs = place
    before = contents(theirs)
    remove(link / "data")
    assert not show_text(link / "data", "new")
    scratch.remove_empty(link / "inner")
    assert remove_leftovers(link.parent.parent) == []
    assert contents(theirs) == before
    assert (theirs / "inner").is_dir()


def test_a_link_with_the_name_of_a_leftover_goes_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "data").write_text("years of work")
    (tmp_path / "run").mkdir()
    for n, suffix in enumerate(("tmp", "old")):
        (tmp_path / "run" / f".images.{n:012x}.{suffix}").symlink_to(tmp_path / "theirs")
    assert len(remove_leftovers(tmp_path / "run")) == 2
    assert not list((tmp_path / "run").iterdir())
    assert contents(tmp_path / "theirs") == {"data": "years of work"}


def test_a_store_that_replaces_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "data").write_text("years of work")
    (tmp_path / "image.zarr").symlink_to(tmp_path / "theirs")
    write_folder(tmp_path / "image.zarr")
    assert contents(tmp_path / "theirs") == {"data": "years of work"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["image.zarr", "theirs"]
    assert not (tmp_path / "image.zarr").is_symlink()


def test_files_with_a_second_name_are_not_written_in_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("years of work\n")
    os.link(tmp_path / "a", tmp_path / "b")
    with pytest.raises(CannotCreateError, match="has a second name"):
        append_line(tmp_path / "b", "line")
    with pytest.raises(FileNotFoundError):
        scratch.reopen(tmp_path / "b", direct=False)
    # reading changes nothing
    os.close(scratch.reopen(tmp_path / "b", direct=False, writing=False)[0])
    os.close(scratch.create(tmp_path / "b", direct=False)[0])
    assert (tmp_path / "a").read_text() == "years of work\n"


def test_around_a_claimed_folder_links_work(tmp_path: Path) -> None:
    (tmp_path / "disk" / "run").mkdir(parents=True)
    (tmp_path / "there").symlink_to(tmp_path / "disk")
    root = tmp_path / "there" / "run"
    own.claim(root, ["images"])
    make_folder(root / "images" / "deep")
    publish_text(root / "images" / "deep" / "a", "x")
    own.replace(root / "images" / "deep" / "a", root / "images" / "b")
    assert own.read_text(tmp_path / "disk" / "run" / "images" / "b") == "x"
    assert own.names_in(root / "images") == ["b", "deep"]
    assert scratch.clear_folder(root / "images", {"deep"}) > 0
    assert own.names_in(root / "images") == ["deep"]


def test_a_relative_name_is_claimed_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "images").symlink_to(tmp_path / "theirs")
    monkeypatch.chdir(tmp_path)
    own.claim("run", ["images"])
    for root in (Path("run"), tmp_path / "run", Path("./run"), tmp_path / "run" / "."):
        with pytest.raises(CannotCreateError):
            publish_text(root / "images" / "a", "x")
    assert not list((tmp_path / "theirs").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("strict", [False, True])
def test_folders_of_others_are_read_and_never_changed(tmp_path: Path, strict: bool) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "data").write_text("years of work")
    own.claim(tmp_path, ["ours"], strict=strict)
    os.chown(tmp_path / "ours", 12345, -1)
    assert own.read_text(tmp_path / "ours" / "data") == "years of work"
    for change in (own.unlink, lambda p: publish_text(p, "x"), lambda p: append_line(p, "x")):
        with pytest.raises(CannotCreateError, match="belongs to another user"):
            change(tmp_path / "ours" / "data")
    # who owns the folder around it may own what is in it, but not where scratch is shared by many
    os.chown(tmp_path, 12345, -1)
    if strict:
        with pytest.raises(CannotCreateError, match="belongs to another user"):
            publish_text(tmp_path / "ours" / "data", "x")
    else:
        publish_text(tmp_path / "ours" / "data", "x")
    assert own.read_text(tmp_path / "ours" / "data") == ("years of work" if strict else "x")
