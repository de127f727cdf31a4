"""Every code that the package can raise stands in the catalogue, and every entry can be raised."""

import re
from pathlib import Path

import pytest

import subsalt
from subsalt import catalogue

PACKAGE = Path(subsalt.__file__).parent


def codes_in_source():
    """Return the codes named in the package, with the files that name them."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        if "catalogue" not in path.parts:
            for code in re.findall(r'"([EW]\d{3})"', path.read_text()):
                found.setdefault(code, set()).add(path.relative_to(PACKAGE).as_posix())
    return found


def test_every_code_is_explained():
    missing = {code: files for code, files in codes_in_source().items() if code not in catalogue.entries()}
    assert not missing


def test_every_entry_is_used():
    assert set(catalogue.entries()) <= set(codes_in_source())


@pytest.mark.parametrize("code", sorted(catalogue.entries()))
def test_entries_are_complete(code):
    entry = catalogue.lookup(code.lower())
    assert re.fullmatch(r"[EW]\d{3}", code)
    assert entry.title
    assert not entry.title.endswith(".")
    assert entry.meaning.endswith(".")
    assert entry.cure.endswith(".") or entry.cure.endswith('"')
    assert entry.level == ("error" if code[0] == "E" else "warning")


def test_parts_keep_to_their_hundreds():
    ranges = {
        "job": "01",
        "files": "2",
        "survey": "3",
        "prestack": "7",
        "models": "4",
        "physics": "5",
        "resources": "67",
        "parallel": "467",
        "runs": "8",
        "playback": "8",
        "reimaging": "8",
        "time_migration": "7",
        "time_runs": "8",
        "velocity": "7",
    }
    for part, digits in ranges.items():
        module = __import__(f"subsalt.catalogue.{part}", fromlist=["ENTRIES"])
        assert all(code[1] in digits for code in module.ENTRIES), part


def test_unknown_codes_get_a_suggestion():
    assert catalogue.lookup("E999") is None
    assert "did you mean" in catalogue.suggest("E41")
