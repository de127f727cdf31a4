"""Campaigns through ReFrame: its reports, kept from sessions of our own, and everything that can be wrong with them."""

import importlib.util
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from subsalt.errors import SubsaltError
from subsalt_lab import external
from subsalt_lab.layouts import Layout
from subsalt_lab.rf import campaign, report, timed
from subsalt_lab.topology import Topology
from subsalt_lab.work_rule import WorkRule, sockets_of

SAMPLES = Path(__file__).with_name("samples")
#: four runs of `echo took ...`, 4.0, 2.00, 2.10 and 4.2 s, by ReFrame 4.10.4
GOOD = (SAMPLES / "reframe-4.10.4.json").read_text()
#: two runs, of which the second ended with exit code 1
FAILED = (SAMPLES / "reframe-4.10.4-failed.json").read_text()

real = pytest.mark.skipif(importlib.util.find_spec("reframe") is None, reason="ReFrame is not installed")


def code_of(call, *args):
    with pytest.raises(SubsaltError) as error:
        call(*args)
    return error.value.code


def test_a_report_has_the_runs_in_their_order():
    runs = report.parse(GOOD, 4)
    assert [(r.seconds, r.resolution) for r in runs] == [(4.0, 0.05), (2.0, 0.005), (2.1, 0.005), (4.2, 0.05)]
    assert report.in_order(runs)
    backwards = json.loads(GOOD)
    backwards["runs"][0]["testcases"].reverse()
    assert report.parse(json.dumps(backwards), 4) == runs


def test_a_failed_run_is_named():
    with pytest.raises(SubsaltError, match="run 2 of the campaign failed in ReFrame: sanity error") as error:
        report.parse(FAILED, 2)
    assert error.value.code == "E964"


def test_a_slurm_without_accounting_has_another_cure(tmp_path, monkeypatch):
    def run(words, **more):
        Path(words[words.index("--report-file") + 1]).write_text(FAILED)

    monkeypatch.setattr(campaign.launcher, "run", run)
    monkeypatch.chdir(tmp_path)
    runs = [{"words": ["true"], "what": "it", "time_from": None, "ranks": 1, "threads": 1}] * 2
    for scheduler, said in (("slurm", True), ("squeue", False)):
        with pytest.raises(SubsaltError) as error:
            campaign.ReFrame(Path("reframe"), "4.10.4", scheduler).run(runs, 1.0)
        assert ("--scheduler squeue" in error.value.fix) == said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_cut_report_is_none(part):
    assert code_of(report.parse, GOOD[: int(part * len(GOOD))], 4) == "E965"


def changed(edit):
    found = json.loads(GOOD)
    edit(found)
    return json.dumps(found)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda r: r["session_info"].update(data_version="3.1"), "format is 3.1"),
        (lambda r: r["session_info"].pop("data_version"), "data_version"),
        (lambda r: r.pop("runs"), "runs"),
        (lambda r: r["runs"][0]["testcases"].pop(), "3 of 4 runs"),
        (lambda r: r["runs"][0]["testcases"].append(r["runs"][0]["testcases"][0]), "5 of 4 runs"),
        (lambda r: r["runs"][0]["testcases"][1].update(perfvalues={}), "time"),
        (lambda r: r["runs"][0]["testcases"][1].update(perfvalues=None), "AttributeError"),
        (lambda r: r["runs"][0]["testcases"][1].update(job_submit_time=None), "TypeError"),
        # the second run begins while the first is under way
        (
            lambda r: r["runs"][0]["testcases"][1].update(
                job_submit_time=r["runs"][0]["testcases"][0]["job_completion_time_unix"] - 0.2
            ),
            "at the same time",
        ),
    ],
)
def test_what_a_report_may_lack(edit, said):
    with pytest.raises(SubsaltError, match=said) as error:
        report.parse(changed(edit), 4)
    assert error.value.code == "E965"


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Return a function that puts a program in place of ReFrame."""

    def put(script, version="4.10.4"):
        program = tmp_path / "reframe"
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\n' + script)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        return program

    return put


@pytest.mark.parametrize("version", ["4.6.2", "3.12.0", "none", ""])
def test_another_reframe_is_refused(fake, version):
    fake("", version)
    assert code_of(campaign.ReFrame.find) == "E963"


def test_without_reframe(monkeypatch, tmp_path, subsalt_command):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_of(campaign.ReFrame.find) == "E963"
    code, _, err = subsalt_command("lab", "scaling", "--ranks", "1", "--engine", "reframe", "--", "true")
    assert code == 69
    assert "pip install 'subsalt-imaging[lab]'" in err


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 0", "it wrote none"), ("echo broken >&2; exit 1", "broken"), ("kill -9 $$", "exit code -9")],
)
def test_a_reframe_that_fails(fake, tmp_path, script, said):
    found = campaign.ReFrame(fake(script), "4.10.4")
    runs = [{"words": ["true"], "what": "it", "time_from": None, "ranks": 1, "threads": 1}]
    with pytest.raises(SubsaltError, match=said) as error:
        found.run(runs, 1.0)
    assert error.value.code == "E965"


def test_the_configuration_is_serial_and_writes_nowhere_else(tmp_path):
    here = campaign.ReFrame(Path("reframe"), "4.10.4", "slurm", ("-p", "short")).settings(tmp_path)
    partition = here["systems"][0]["partitions"][0]
    assert (partition["scheduler"], partition["max_jobs"]) == ("slurm", 1)
    assert partition["access"] == ["-p", "short"]
    assert here["storage"] == [{"enable": False}]
    assert here["general"][0]["topology_prefix"].startswith(str(tmp_path))


def test_a_timed_command_says_its_time_last(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    work = {
        "words": [sys.executable, "-c", "import os; print('took 1.5', os.getcwd())"],
        "what": "the command",
        "time_from": r"took ([0-9.]+)",
        "timeout": 60.0,
        "error": str(tmp_path / "error.json"),
        "folder": str(tmp_path),
        "temporary": None,
    }
    assert timed.main(json.dumps(work)) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "subsalt-campaign 1.5 0.05"
    assert not (tmp_path / "error.json").exists()
    work["words"] = [sys.executable, "-c", "raise SystemExit('broken')"]
    assert timed.main(json.dumps(work)) == 70
    told = json.loads((tmp_path / "error.json").read_text())
    assert told["code"] == "E781"
    assert "broken" in told["message"]


@real
def test_a_campaign_through_the_real_reframe(subsalt_command, tmp_path, monkeypatch):
    """The time printed is 12 over the ranks; words that a shell would read arrive as they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "program.py").write_text(
        "import os, sys\n"
        "assert sys.argv[2:] == ['$HOME;', \"a 'b\", '`x`'], sys.argv\n"
        "assert os.environ['OMP_NUM_THREADS'] == '1'\n"
        "print('elapsed', 12 / int(sys.argv[1]), 's')\n"
    )
    words = (sys.executable, "program.py", "{ranks}", "$HOME;", "a 'b", "`x`")
    options = ("--ranks", "1,2", "--repeats", "1", "--time-from", "elapsed ([0-9.]+)", "--engine", "reframe")
    code, out, err = subsalt_command("lab", "scaling", *options, "--json", "--", *words)
    assert code == 0, err
    result = json.loads(out)
    assert result["settings"]["engine"].startswith("ReFrame 4.")
    assert {r["ranks"]: r["seconds"] for r in result["rows"]} == {1: [12.0], 2: [6.0]}
    assert any("serial policy" in note for note in result["notes"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["program.py"]
    # what the command says comes through
    code, _, err = subsalt_command(
        "lab",
        "scaling",
        "--ranks",
        "1",
        "--engine",
        "reframe",
        "--",
        sys.executable,
        "-c",
        "raise SystemExit('broken')",
    )
    assert code == 70
    assert "E781" in err
    assert "broken" in err


TWO_SOCKETS = Topology(((0,), (1,), (2,), (3,)), (0, 0, 1, 1))


def test_cores_sockets_and_what_a_socket_gains():
    layouts = [Layout(1, 1), Layout(2, 1), Layout(3, 1), Layout(4, 1)]
    seconds = {1: 12.0, 2: 8.0, 3: 4.0, 4: 3.0}
    result = external.measure(
        external.Settings(["p", "{ranks}"], layouts, repeats=3),
        run=lambda settings, start: (seconds[start.layout.ranks], 0.0),
        topology=TWO_SOCKETS,
    )
    rows = {r["ranks"]: r for r in result.rows}
    assert [rows[n]["sockets"] for n in (1, 2, 3, 4)] == [1, 1, 2, 2]
    assert rows[4]["rating_per_core"] == 86400 / 3.0 / 4
    assert rows[4]["rating_per_socket"] == 86400 / 3.0 / 2
    # the second core of a socket, and the fourth of two
    assert rows[2]["socket_gain"] == 1.5
    assert rows[4]["socket_gain"] == pytest.approx(4 / 3)
    assert "socket_gain" not in rows[1]


@pytest.mark.parametrize(
    ("rule", "work", "efficiency"),
    [
        ("ranks", [1.0, 4.0], 1.0),
        ("linear", [1.0, 4.0], 1.0),
        ("cores", [2.0, 8.0], 1.0),
        ("sockets", [1.0, 4.0], 1.0),
        ("fixed", [1.0, 1.0], 0.25),
        ("1:1000,4:2000", [1000.0, 2000.0], 0.5),
    ],
)
def test_rules_of_weak_scaling(rule, work, efficiency):
    layouts = [Layout(1, 2), Layout(4, 2)]
    seen = []

    def run(settings, start):
        seen.append(external.words_of(settings, start, 2)[1])
        return 10.0, 0.0

    found = external.measure(
        external.Settings(["p", "{work}", "{ranks}"], layouts, repeats=1, work=WorkRule.read(rule)),
        run=run,
        topology=TWO_SOCKETS,
    )
    assert seen == [f"{w:g}" for w in work]
    assert [r["work"] for r in found.rows] == work
    assert found.rows[1]["efficiency"] == efficiency
    assert found.settings["scaling"] == ("strong" if rule == "fixed" else "weak")


def test_sockets_are_filled_one_after_the_other():
    assert [sockets_of(n, 4) for n in (1, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--work", "much", "--", "p", "{ranks}"), "--work much: no rule"),
        (("--work", "1:0", "--", "p", "{ranks}"), "no rule"),
        (("--work", "1:5,1:6", "--", "p", "{ranks}"), "no rule"),
        (("--ranks", "1,2", "--work", "1:5", "--", "p", "{ranks}"), "nothing about 2 ranks"),
        (("--work", "ranks"), "--work belongs to a command"),
        (("--engine", "own"), "--engine belongs to a command"),
        (("--ranks", "1", "--engine", "jube", "--", "p"), "--engine jube"),
        (("--ranks", "1", "--scheduler", "pbs", "--", "p"), "--scheduler pbs"),
        (("--ranks", "1", "--access", "-p x", "--", "p"), "--access is for jobs"),
        (("--ranks", "1", "--engine", "own", "--scheduler", "slurm", "--", "p"), "needs ReFrame"),
    ],
)
def test_wrong_options(subsalt_command, args, said):
    code, _, err = subsalt_command("lab", "scaling", *args)
    assert code == 2
    assert said in err


def test_nothing_of_a_campaign_is_left_when_it_is_interrupted(monkeypatch):
    seen = []

    def interrupted(words, **more):
        seen.append(Path(words[words.index("--prefix") + 1]))
        assert (seen[0] / "campaign.json").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign.launcher, "run", interrupted)
    runs = [{"words": ["true"], "what": "it", "time_from": None, "ranks": 1, "threads": 1}]
    with pytest.raises(KeyboardInterrupt):
        campaign.ReFrame(Path("reframe"), "4.10.4").run(runs, 1.0)
    assert not os.path.exists(seen[0])
