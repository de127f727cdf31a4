"""`subsalt lab scaling` on ranks: the real launcher, the same bits on every layout."""

import json

import pytest
from launch import MPI

from thorough import ALL, some

pytestmark = MPI


@pytest.fixture
def scaling(subsalt_command):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    return lambda *words: subsalt_command("lab", "scaling", *words)


@pytest.mark.slow
@pytest.mark.parametrize("medium", some(["tti", "vti"], 1))
def test_time_steps_on_ranks_and_threads_give_the_same_bits(scaling, medium):
    ranks = [1, 2, 3] if ALL else [1, 2]
    code, out, err = scaling(
        *("--ranks", ",".join(map(str, ranks)), "--threads", "1", "--medium", medium),
        *("--grid", "72,32,32", "--steps", "3", "--repeats", "1", "--json"),
    )
    assert code == 0, err
    result = json.loads(out)
    assert [r["ranks"] for r in result["rows"]] == ranks
    assert all(r["nodes"] == 1 and r["point_steps"] == 3 * 72 * 32 * 32 for r in result["rows"])
    assert "all layouts gave the same bits" in result["notes"]
    # folders are nobody's business
    assert "/" not in result["settings"]["launcher"]


def test_ranks_that_do_not_see_each_other_are_refused(scaling, tmp_path):
    """A launcher of another MPI starts as many worlds as ranks."""
    fake = tmp_path / "launch"
    fake.write_text('#!/bin/sh\n# launch -n 2 program...\nshift 2\nfor k in 1 2; do "$@"; done\n')
    fake.chmod(0o755)
    code, out, _ = scaling(
        "--launcher", fake, "--ranks", "2", "--grid", "72,32,32", "--repeats", "1", "--json"
    )
    assert code == 69
    error = json.loads(out)["error"]
    assert error["code"] == "E782"
    assert "2 separate runs in place of one with 2 ranks" in error["message"]
    assert "MPI4PY_LIBMPI" in error["fix"]
