"""`subsalt lab machine`: every section with age and noise, and what is missing with the command that repairs it."""

import json
from datetime import UTC, datetime

import pytest

from subsalt import __version__
from subsalt.cli import guard
from subsalt.cli.app_root import app
from subsalt.machine import storage
from subsalt.machine.machine_file import Machine
from subsalt_lab import machine_tables as tables

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def known():
    kernel = {"medium": "vti", "order": 8, "points_per_s": 5e8, "date": "2026-11-22T10:00:00Z"}
    return Machine(
        {"cpu": "made up", "cores": 2, "ram_bytes": 10**10, "system": "Linux"},
        {
            "kernels": [kernel | {"version": "0.1.0", "noisy": True}, kernel | {"version": __version__}],
            "network": [{"what": "latency", "where": "node", "value": 2.5e-6, "unit": "s"}],
        },
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(known().to_dict()))
    return path


def run(capsys, *args):
    code = guard.run(app, ["lab", "machine", *map(str, args)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(
    ("date", "text"),
    [
        ("2026-11-22T11:59:40Z", "now"),
        ("2026-11-22T11:15:00Z", "45 min"),
        ("2026-11-22T09:00:00Z", "3 h"),
        ("2026-10-23T12:00:00Z", "30 d"),
        ("2027-01-01T00:00:00Z", "now"),
        ("2026-11-22", "12 h"),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_ages(date, text):
    assert tables.age(date, NOW) == text


def test_what_is_missing_noisy_old_or_of_another_version_is_said():
    said = tables.missing(known(), tables.names(), NOW)
    assert any(m.startswith("memory: not measured") and m.endswith("subsalt lab memory") for m in said)
    assert any("1 of 2 rows are noisy" in m for m in said)
    assert any(f"version 0.1.0, this is {__version__}" in m for m in said)
    assert any("isotropic and tti not measured" in m for m in said)
    assert any("nothing between nodes" in m for m in said)
    assert not any("days old" in m for m in said)
    later = NOW.replace(year=2027)
    assert any("days old" in m for m in tables.missing(known(), ["kernels"], later))
    # who asks for one section hears of that alone
    assert all(m.startswith("network") for m in tables.missing(known(), ["network"], NOW))


def test_the_command(file, capsys):
    code, out, _ = run(capsys, "--machine", file)
    assert code == 0
    assert "made up, 2 cores, 10 GB" in out
    assert "Gpt-steps/s" in out
    assert "2.5" in out
    assert " us" in out
    assert "missing  copies" in out
    code, out, _ = run(capsys, "--machine", file, "--json", "--section", "kernels")
    result = json.loads(out.splitlines()[-1])
    assert len(result["kernels"]) == 2
    assert "network" not in result
    assert result["machine_file"] == str(file)
    code, out, _ = run(capsys, "--machine", file, "--section", "kernels", "--table", "csv")
    assert (code, len(out.splitlines())) == (0, 3)
    assert run(capsys, "--machine", file, "--table", "markdown")[1].count("| ---") >= 2


@pytest.mark.parametrize(
    ("args", "code", "named"),
    [
        (("--section", "weather"), 2, "E128"),
        (("--table", "csv"), 2, "E128"),
        (("--table", "html"), 2, "E128"),
        (("--machine", "nothing.json"), 66, "E110"),
    ],
)
def test_wrong_input_is_named(file, capsys, args, code, named):
    words = args if "--machine" in args else ("--machine", file, *args)
    got, _, err = run(capsys, *words)
    assert (got, named in err) == (code, True)


def test_what_a_published_file_takes(tmp_path):
    assert storage.publishing_known(None, tmp_path) is None
    assert storage.publishing_known(Machine({}, {}), tmp_path) is None
    rows = storage.measure_publishing(tmp_path)
    assert list(tmp_path.iterdir()) == []
    machine = Machine({}, {}).merged("storage", rows)
    assert len(machine.sections["storage"]) == 2
    seconds, rate = storage.publishing_known(machine, tmp_path / "not there yet")
    assert seconds > 0
    assert rate > 0
    small, large = rows
    # what is left of a large file when that of a small one is taken away
    rest = large["seconds_median"] - small["seconds_median"]
    assert rate == pytest.approx(storage.LARGE / max(rest, 1e-6))
