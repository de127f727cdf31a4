"""Every code that the package can raise stands in messages.toml, and every entry can be raised."""

import re
import tomllib
from pathlib import Path

import pytest

import subsalt
import subsalt_lab
from subsalt import error_texts, errors

PACKAGES = [Path(package.__file__).parent for package in (subsalt, subsalt_lab)]
FILES = [error_texts.TEXTS, subsalt_lab.MESSAGES]


def codes_in_source():
    """Return the codes named in both packages, with the files that name them."""
    places = {}
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            for code in re.findall(r'"([EW]\d{3})"', path.read_text()):
                places.setdefault(code, set()).add(path.relative_to(package.parent).as_posix())
    return places


def test_every_code_is_explained():
    missing = {code: files for code, files in codes_in_source().items() if code not in error_texts.entries()}
    assert not missing


def test_every_entry_is_used():
    assert set(error_texts.entries()) <= set(codes_in_source())


@pytest.mark.parametrize("code", sorted(error_texts.entries()))
def test_entries_are_complete(code):
    entry = error_texts.lookup(code.lower())
    assert re.fullmatch(r"[EW]\d{3}", code)
    assert entry.title
    assert not entry.title.endswith(".")
    assert entry.meaning.endswith(".")
    assert entry.cure.endswith(".") or entry.cure.endswith('"')
    assert entry.level == ("error" if code[0] == "E" else "warning")


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_sorted_by_number(file):
    codes = list(tomllib.loads(file.read_text(encoding="utf-8")))
    assert codes == sorted(codes, key=lambda code: (code[1:], code[0]))


def test_codes_that_only_the_lab_raises_are_in_its_file():
    ours, lab = (tomllib.loads(file.read_text(encoding="utf-8")) for file in FILES)
    assert not set(ours) & set(lab)
    for code, files in codes_in_source().items():
        assert (code in lab) == all(file.startswith("subsalt_lab/") for file in files), code


@pytest.mark.parametrize("file", FILES)
def test_entries_stand_under_the_heading_of_their_hundred(file):
    heading = None
    for line in file.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"# (\d)xx: ", line):
            heading = match[1]
        elif match := re.match(r"\[[EW](\d)\d\d\]", line):
            assert match[1] == heading, line


def test_unknown_codes_get_a_suggestion():
    assert error_texts.lookup("E999") is None
    assert "did you mean" in error_texts.suggest("E41")


def test_a_cure_with_a_long_list_of_traces_is_printed_with_its_beginning():
    def cure(count):
        numbers = ", ".join(str(7 * i + 1) for i in range(count))
        return f'[data] exclude = [{{file = "a.sgy", traces = "{numbers}"}}]; or noisy_traces = "keep"'

    short, long = (errors.Finding("E246", "error", "noise", cure(n)) for n in (20, 500))
    assert short.short_fix == short.fix
    assert long.short_fix.startswith(long.fix[:100])
    assert len(long.short_fix) < 250
    listed = ", ".join(str(7 * i) for i in range(1, 36))
    array = errors.Finding(
        "W233", "warning", "zero", f'[data] exclude = [{{file = "a.sgy", traces = [{listed}]}}]'
    )
    assert "traces = [7, 14, 21, 28, 35, ... 35 numbers]}] (-v and" in array.short_fix
    corners = errors.Finding("W530", "warning", "band", 'step = "bandpass", corners = [2, 4, 23, 33]')
    assert corners.short_fix == corners.fix
    assert '..."}]; or noisy_traces = "keep" (-v and --json print the whole list)' in long.short_fix
