"""Every fault of `make mutants` still applies to the sources of today, once, and names tests that are there."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest
from mutant_rows import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


def test_there_are_seventy_one() -> None:
    assert len(MUTANTS) == 71
    assert max(Counter((m.part, m.name) for m in MUTANTS).values()) == 1


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.part}: {m.name}")
def test_a_row_applies_once_and_its_tests_are_there(mutant: Mutant) -> None:
    count = (ROOT / mutant.file).read_text().count(mutant.old)
    assert count == 1, f"{mutant.file} has {count} times: {mutant.old}"
    assert mutant.new != mutant.old
    files = [w.partition("::")[0] for w in shlex.split(mutant.tests) if ".py" in w]
    assert files
    assert not [f for f in files if not (ROOT / "tests" / f).is_file()]
    assert mutant.file.startswith("native/") == bool(mutant.build)
