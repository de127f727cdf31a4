"""examples/data.py: files are accepted with their checksum alone, wherever they come from."""

import hashlib
import importlib.util
import urllib.error
from pathlib import Path

import pytest

from job_files import shared_data

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CONTENT = b"a file of data"


@pytest.fixture
def data(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    module = importlib.import_module("data")
    digest = hashlib.sha256(CONTENT).hexdigest()
    as_is = module.DataFile("segy/a.sgy", len(CONTENT), digest, "a", "some/where", "c0ffee", "a.sgy", "terms")
    made = module.DataFile(
        "models/b.npz", 1, "0" * 64, "b", "some/where", "c0ffee", "b.bin", "terms", "by hand"
    )
    monkeypatch.setattr(module, "FILES", (as_is, made))
    return module


def test_what_is_missing_is_fetched_where_the_source_has_it_as_it_is(data, tmp_path, monkeypatch, capsys):
    fetched = []
    monkeypatch.setattr(data, "fetched", lambda file: fetched.append(file.url) or CONTENT)
    # the converted one stays missing, and the list says how it is made
    assert data.main([str(tmp_path), "--fetch"]) == 1
    assert fetched == ["https://raw.githubusercontent.com/some/where/c0ffee/a.sgy"]
    assert (tmp_path / "segy/a.sgy").read_bytes() == CONTENT
    out = capsys.readouterr().out
    assert "segy/a.sgy  there" in out
    assert "converted: by hand" in out


def test_another_content_is_refused_and_nothing_written(data, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "fetched", lambda file: b"something else")
    with pytest.raises(SystemExit, match="SHA-256"):
        data.main([str(tmp_path), "--fetch"])
    assert not (tmp_path / "segy/a.sgy").exists()


def test_without_a_network_the_list_says_where_to_look(data, tmp_path, monkeypatch, capsys):
    def none(file):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(data, "fetched", none)
    assert data.main([str(tmp_path), "--fetch"]) == 1
    assert "could not be fetched from https://" in capsys.readouterr().out


def test_a_damaged_copy_is_noticed_and_replaced_from_another_folder(data, tmp_path, capsys):
    for folder, content in (("mine", b"damaged"), ("theirs", CONTENT)):
        (tmp_path / folder / "segy").mkdir(parents=True)
        (tmp_path / folder / "segy/a.sgy").write_bytes(content)
    assert data.main([str(tmp_path / "mine")]) == 1
    assert "another file" in capsys.readouterr().out
    data.main([str(tmp_path / "mine"), "--from", str(tmp_path / "theirs")])
    assert (tmp_path / "mine/segy/a.sgy").read_bytes() == CONTENT


@pytest.mark.shared_data
def test_the_table_is_that_of_the_files(monkeypatch):
    folder = shared_data()
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for file in importlib.reload(importlib.import_module("data")).FILES:
        assert file.state(folder) == "there"
        assert (folder / file.name).stat().st_size == file.size


def test_no_page_names_a_folder_that_a_reader_does_not_have():
    root = EXAMPLES.parent
    pages = [
        root / "README.md",
        *root.glob("docs/**/*.md"),
        *root.glob("examples/**/*.md"),
        *root.glob("examples/*.toml"),
    ]
    assert [p.name for p in pages if "shared/data" in p.read_text(encoding="utf-8")] == []


def test_the_page_on_example_data_has_the_tables_of_the_program():
    spec = importlib.util.spec_from_file_location("make_data", EXAMPLES.parent / "docs" / "make_data.py")
    make_data = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_data)
    text = make_data.PAGE.read_text(encoding="utf-8")
    assert make_data.page(text) == text, "run: python docs/make_data.py"
