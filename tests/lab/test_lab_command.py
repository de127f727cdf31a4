"""`subsalt lab` as users and scripts meet it."""

import json
import signal
from functools import partial

import pytest

from subsalt.cli import app as cli
from subsalt.cli import guard
from subsalt.host import machine_facts, usable_cores
from subsalt.kernels import cpu
from subsalt.machine import machine_file as machine
from subsalt_lab import kernel_bench, kernels, memory

BEST = cpu.available()[-1]


@pytest.fixture
def run(monkeypatch, capfd, tmp_path):
    """Return a function that runs the command in this process: (exit code, stdout, stderr)."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = {number: signal.getsignal(number) for number in guard.STOPPING}

    def call(*args):
        try:
            code = guard.run(cli.app, ["lab", *map(str, args)])
        except SystemExit as leave:
            code = leave.code
        out, err = capfd.readouterr()
        return code, out, err

    yield call
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("command", ["memory", "kernels"])
def test_every_help_has_an_example(run, command):
    assert f"Examples:\n  subsalt lab {command}" in run(command, "--help")[1]


def test_memory_prints_a_result_and_adds_to_machine_json(run, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "wanted_bytes", lambda: 1 << 20)
    path = tmp_path / "here" / "machine.json"
    code, out, _ = run("memory", "--threads", "1", "--rounds", "3", "--json", "--out", path)
    assert code == 0
    result = json.loads(out)
    assert result["schema"] == "subsalt-lab-1"
    assert result["measurement"] == "memory"
    assert set(result) == {
        "schema",
        "measurement",
        "version",
        "date",
        "machine",
        "environment",
        "load",
        "settings",
        "units",
        "rows",
        "notes",
        "machine_file",
    }
    assert result["machine_file"] == str(path)
    assert [r["what"] for r in result["rows"]] == ["update", "triad", "copy", "multiply-add"]
    assert all(len(r["seconds"]) == 3 and r["rate"] > 0 for r in result["rows"])
    assert result["load"]["noisy"] in (True, False)
    assert [r["what"] for r in machine.read(path).sections["memory"]] == [r["what"] for r in result["rows"]]


def test_kernels_in_text_and_the_usual_place(run, monkeypatch, tmp_path):
    # samples of a call each
    monkeypatch.setattr(kernels, "measure", partial(kernels.measure, seconds=1e-6))
    code, out, err = run(
        "kernels", "--medium", "isotropic", "--order", "8", "--threads", "1", "-n", "96", "--rounds", "3"
    )
    assert code == 0
    assert f"isotropic, order 8, 96^3 points, {BEST}, 1 thread" in out
    for line in (
        "core",
        "core, segment",
        "pml 12",
        "damping 40",
        "plain loop",
        "roof",
        "snapshot",
        "record 2000",
    ):
        assert f"\n{line} " in out
    path = tmp_path / "cache" / "subsalt" / "machine.json"
    assert str(path) in err
    read_back = machine.read(path).find(
        "kernels", medium="isotropic", order=8, boundary="pml", loop="segment"
    )
    assert [(r["n"], r["model_storage"]) for r in read_back] == [(96, "f32"), (96, "u16")]


def test_csv_can_be_piped(run, monkeypatch):
    monkeypatch.setattr(memory, "wanted_bytes", lambda: 1 << 16)
    _, out, _ = run("memory", "--threads", "1", "--rounds", "3", "--table", "csv")
    lines = out.splitlines()
    assert lines[0].startswith("what,isa,threads,rate")
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("args", "code", "exit_code", "words"),
    [
        (("kernels", "--isa", "v9"), "E702", 69, "v9"),
        (("memory", "--isa", ","), "E702", 69, "empty"),
        (("kernels", "-n", "95"), "E128", 2, "96"),
        (("kernels", "--medium", "tti", "--storage", "u16"), "E128", 2, "tti has no 16-bit models"),
        (("kernels", "--threads", "0"), "E128", 2, "--threads 0"),
        (("memory", "--threads", "two"), "E128", 2, "two"),
        (("memory", "--threads", usable_cores() + 1), "E128", 2, f"may use {usable_cores()} core"),
        (("kernels", "--medium", "vti,orthorhombic"), "E128", 2, "--medium orthorhombic"),
        (("kernels", "--order", "6"), "E128", 2, "--order 6"),
        (("kernels", "--table", "latex"), "E128", 2, "latex"),
        (("memory", "--rounds", "2"), "E002", 2, "--rounds"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_measured(
    run, monkeypatch, args, code, exit_code, words
):
    for measurement in (kernels, memory):
        monkeypatch.setattr(measurement, "measure", lambda *a, **k: pytest.fail("measured"))
    left, out, err = run(*args, "--json")
    error = json.loads(out)["error"]
    assert (left, error["code"], error["exit"]) == (exit_code, code, exit_code)
    assert words in error["message"]
    assert error["fix"]
    assert error["message"] in err


def test_a_damaged_machine_json_is_refused_before_anything_is_measured(run, monkeypatch, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text("{")
    monkeypatch.setattr(memory, "measure", lambda *a, **k: pytest.fail("measured"))
    code, _, err = run("memory", "--out", path)
    assert code == 65
    assert "E643" in err
    assert path.read_text() == "{"


def test_lists_may_be_written_with_commas_or_repeated(run, monkeypatch):
    seen = []

    def measure(settings, **more):
        seen.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels, "measure", measure)
    run(
        "kernels",
        "--medium",
        "vti,isotropic",
        "--order",
        "4",
        "--order",
        "8",
        "--isa",
        "all",
        "--threads",
        "1",
    )
    assert seen[0].media == ["vti", "isotropic"]
    assert seen[0].orders == [4, 8]
    assert seen[0].isas == cpu.available()
    run("kernels", "--quick")
    assert (seen[1].orders, seen[1].rounds, seen[1].threads) == ([8], 3, [usable_cores()])
    assert seen[1].isas == [cpu.describe()["isa"]]


def test_ctrl_c_says_that_nothing_was_written(run, monkeypatch, tmp_path):
    def measure(settings, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(memory, "measure", measure)
    path = tmp_path / "machine.json"
    code, _, err = run("memory", "--out", path)
    assert code == 130
    assert "nothing was written" in err
    assert not path.exists()


def test_a_grid_beyond_the_memory_is_refused_with_one_that_fits(run):
    code, out, _ = run("kernels", "-n", "4096", "--json")
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (69, "E612")
    assert "-n 4096: the arrays of tti take" in error["message"]
    fits = int(error["fix"].removeprefix("use -n ").removesuffix(" or less"))
    memory_bytes = kernels.MEMORY_SHARE * machine_facts()["ram_bytes"]
    assert kernel_bench.bytes_needed(fits, "tti", 8, False) <= memory_bytes
    assert kernel_bench.bytes_needed(fits + 16, "tti", 8, False) > memory_bytes
