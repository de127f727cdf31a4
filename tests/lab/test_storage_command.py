"""`subsalt lab storage` as users and scripts meet it."""

import json

import pytest

from subsalt.errors import ConfigError
from subsalt.machine import machine_file as machine
from subsalt.machine.storage import mount_of
from subsalt_lab import option_values


@pytest.fixture
def run(subsalt_command, monkeypatch, tmp_path):
    """Return a function that measures storage in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *words: subsalt_command("lab", "storage", *words)


def test_quick_prints_a_table_and_fills_machine_json(run, tmp_path):
    code, out, err = run(tmp_path, "--quick", "--size", "8MiB", "--record", "1MiB", "--threads", "2")
    assert code == 0, err
    assert "Snapshots: put and get" in out
    assert "1 MiB in sequence" not in out
    path = tmp_path / "cache" / "subsalt" / "machine.json"
    assert f"machine   {path}" in err
    rows = machine.read(path).sections["storage"]
    assert {(r["what"], r["threads"], r["mount"]) for r in rows} == {
        (what, 2, mount_of(tmp_path).point) for what in ("put", "get")
    }


def test_json_names_its_file(run, tmp_path):
    out_file = tmp_path / "m.json"
    code, out, _ = run(tmp_path, "--quick", "--size", "1MiB", "--buffered", "--json", "--out", out_file)
    assert code == 0
    result = json.loads(out)
    assert result["measurement"] == "storage"
    assert result["machine_file"] == str(out_file)
    assert {r["how"] for r in result["rows"]} == {"buffered"}


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        (["--size", "much"], 2, "E128"),
        (["--size", "4kB"], 2, "smaller than"),
        (["--record", "100"], 2, "smaller than"),
        (["--threads", "0"], 2, "--threads 0"),
        (["--table", "html"], 2, "--table html"),
        (["--engine", "vdbench"], 2, "--engine vdbench"),
        (["--streams", "0,4"], 2, "--streams 0"),
        (["--sustained", "1"], 2, "--sustained 1: too short"),
        (["missing"], 74, "missing is no directory"),
    ],
)
def test_wrong_options_are_refused_with_the_cure(run, tmp_path, wrong, code, said):
    printed, _, err = run(*([tmp_path] if wrong != ["missing"] else []), *wrong)
    assert printed == code
    assert said in err


def test_help_has_an_example(run):
    assert "Examples:\n  subsalt lab storage ." in run("--help")[1]


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("4096", 4096),
        ("1GB", 10**9),
        ("4 MiB", 4 << 20),
        ("1.5k", 1500),
        ("2t", 2 * 10**12),
        ("1Gib", 1 << 30),
    ],
)
def test_sizes_have_units(text, nbytes):
    assert option_values.size("--size", text) == nbytes


@pytest.mark.parametrize("text", ["", "B", "-1GB", "1XB", "1e9", "ib", "12ib"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match="not a size"):
        option_values.size("--size", text)
