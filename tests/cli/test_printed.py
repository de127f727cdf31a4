"""How much the commands print: the end of a run, warnings that a check has printed, --quiet, --verbose, --profile, and
where `view` writes."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from checks_once import checks_once  # noqa: F401  what is found is printed here, not looked for
from job_files import MIGRATE, write_files, write_job
from subsalt.errors import Finding

#: a job with one warning
WARNED = MIGRATE + '\n[propagation]\nboundary = "none"\n'


@pytest.fixture
def job(tmp_path) -> Path:
    write_files(tmp_path)
    return write_job(tmp_path, WARNED)


@pytest.fixture(scope="module")
def migrated(tmp_path_factory) -> Path:
    """Return the job of a run that is finished."""
    from subsalt.methods.rtm.job import Job
    from subsalt.run.migrate import migrate_job

    folder = tmp_path_factory.mktemp("migrated")
    write_files(folder)
    made = write_job(folder, WARNED)
    migrate_job(Job.from_toml(made), made.with_suffix(".run"))
    return made


@pytest.fixture
def done(migrated) -> Path:
    """Return the job of a run that is finished and that no check has been printed of: a command computes nothing."""
    shutil.rmtree(migrated.parent / "line.check", ignore_errors=True)
    return migrated


def labels(text: str) -> list[str]:
    """Return the first word of every line."""
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def test_a_run_ends_with_image_report_and_time(job, subsalt_command):
    code, out, err = subsalt_command("migrate", job)
    assert code == 0, err
    assert labels(out)[-3:] == ["image", "report", "time"]
    assert "unexplained" not in out
    code, out, _ = subsalt_command("resume", job.with_suffix(".run"), "--profile")
    assert code == 0
    assert {"unexplained", "wall", "check"} <= set(labels(out))
    assert labels(out)[-3:] == ["image", "report", "time"]


def test_modelled_shots_are_counted_and_not_listed(tmp_path, subsalt_command):
    from test_cli import MODEL

    code, out, err = subsalt_command("model", write_job(tmp_path, MODEL, "m.toml"))
    assert code == 0, err
    assert "2 files in " in out
    assert labels(out)[-2:] == ["shots", "time"]


def test_warnings_of_check_are_counted_and_new_ones_are_printed(done, subsalt_command):
    job = done
    out = subsalt_command("migrate", job)[1]
    assert "warning" in labels(out)  # no check has printed it
    assert "W" in subsalt_command("check", job)[1]
    code, out, _ = subsalt_command("migrate", job)
    assert code == 0
    assert "warning" not in labels(out)
    assert f"1 warning, as in check: subsalt check {job}" in out
    # from the run directory, where files are named by whole paths
    assert "1 warning, as in check" in subsalt_command("resume", job.with_suffix(".run"))[1]
    # all of them where asked for
    assert "warning" in labels(subsalt_command("migrate", job, "-v")[1])
    # a warning that check did not print
    record = job.parent / "line.check" / "warnings.json"
    record.write_text(json.dumps({"printed": [["W999", "another"]]}))
    assert "warning" in labels(subsalt_command("migrate", job)[1])


def test_a_run_that_goes_on_tries_no_cures_and_says_so(job, subsalt_command, monkeypatch):
    from subsalt.job import checking

    tried = []
    judged = checking.judged
    monkeypatch.setattr(checking, "judged", lambda *words: tried.append(words) or judged(*words))
    warned = Finding("W226", "warning", "offsets disagree", "[data.bytes] offset = 0", {})
    rules = checking._untried
    monkeypatch.setattr(
        checking, "_untried", lambda job: replace(rules(job), findings=[*rules(job).findings, warned])
    )
    code, out, err = subsalt_command("migrate", job)
    assert (code, tried) == (0, []), err
    assert f"fix: {warned.fix}\nthese cures were not tried: subsalt check {job} tries each" in out
    page = (job.with_suffix(".run") / "report.html").read_text()
    assert "did not try the cures" in page
    # refused, and shown by check: tried
    assert subsalt_command("migrate", job, "--strict")[0] == 65
    assert len(tried) == 1
    assert "not tried" not in subsalt_command("check", job)[1]
    assert len(tried) == 2
    # nothing to try
    monkeypatch.setattr(checking, "_untried", rules)
    assert "not tried" not in subsalt_command("migrate", job, "-v")[1]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"printed": 3}', '{"printed": [1]}', '{"printed": [[1, 2, 3]]}', "{"]
)
def test_a_damaged_record_of_warnings_prints_them(done, subsalt_command, text):
    record = done.parent / "line.check" / "warnings.json"
    record.parent.mkdir()
    record.write_text(text)
    code, out, _ = subsalt_command("migrate", done)
    assert code == 0
    assert "warning" in labels(out)


def test_no_record_where_check_writes_no_map(job, subsalt_command):
    assert subsalt_command("check", job, "--no-map")[0] == 0
    assert not (job.parent / "line.check").exists()
    assert subsalt_command("check", job, "--quiet")[0] == 0  # it has printed no warning
    assert not (job.parent / "line.check" / "warnings.json").exists()


def test_quiet_prints_results_and_errors_only(job, subsalt_command):
    code, out, err = subsalt_command("migrate", job, "-q")
    assert (code, err) == (0, "")
    assert labels(out) == ["image", "report", "time"]
    code, out, err = subsalt_command("check", job, "--quiet")
    assert (code, err) == (0, "")
    assert labels(out) == ["map", "0"]
    wrong = write_job(job.parent, WARNED + "dt = 0.05\n", "wrong.toml")
    code, out, err = subsalt_command("migrate", wrong, "--quiet")
    assert (code, out) == (65, "")
    assert set(labels(err)) == {"error", "fix:"}


def test_the_end_of_findings_says_once_how_to_read_about_a_code(job, subsalt_command):
    warned = write_job(job.parent, WARNED, "warned.toml")
    out = subsalt_command("check", warned, "--no-map")[1]
    (code,) = re.findall(r"^warning (W\d+)", out, re.M)
    assert out.splitlines()[-1] == f"more about a code: subsalt explain {code}"
    assert out.count("more about a code") == 1
    wrong = write_job(job.parent, WARNED + "dt = 0.05\n", "wrong.toml")
    err = subsalt_command("migrate", wrong)[2]
    assert err.splitlines()[-1].startswith("more about a code: subsalt explain E")
    assert "more about" not in subsalt_command("check", job, "--no-map", "--quiet")[1]


def test_errors_are_printed_once_with_the_warnings(job, subsalt_command):
    wrong = write_job(job.parent, WARNED + "dt = 0.05\n", "wrong.toml")
    code, out, err = subsalt_command("migrate", wrong)
    assert (code, out) == (65, "")
    assert labels(err).count("error") == 1
    assert labels(err).count("warning") == 1


def test_what_strict_refuses_is_printed(tmp_path, subsalt_command):
    write_files(tmp_path)
    code, out, err = subsalt_command("migrate", write_job(tmp_path), "--strict")
    assert (code, out) == (65, "")
    assert "not checked: echoes" in err


def test_verbose_prints_what_is_behind_a_finding(job, subsalt_command):
    plain = subsalt_command("check", job, "--no-map")[1]
    code, out, _ = subsalt_command("check", job, "--no-map", "--verbose")
    assert code == 0
    assert set(plain.splitlines()) < set(out.splitlines())
    code, _, err = subsalt_command("check", job, "-q", "-v")
    assert code == 2
    assert "--quiet and --verbose" in err


@pytest.mark.parametrize("words", [(), ("lab",)])
def test_a_bare_command_prints_its_help_without_an_error(subsalt_command, words):
    code, out, err = subsalt_command(*words)
    assert (code, err) == (0, "")
    assert out == subsalt_command(*words, "--help")[1]


def test_view_writes_next_to_its_input(done, subsalt_command, tmp_path_factory, monkeypatch):
    folder, run = done.parent, done.with_suffix(".run")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    for source, picture in ((run, folder / "line.png"), (run / "image.rsf", run / "image.png")):
        code, out, err = subsalt_command("view", source)
        assert code == 0, err
        assert str(picture) in out
        assert picture.is_file()
    assert not list(Path.cwd().iterdir())
    # a run named from inside is drawn next to it, too
    (folder / "line.png").unlink()
    monkeypatch.chdir(run)
    assert subsalt_command("view", ".")[0] == 0
    assert (folder / "line.png").is_file()
    # and a folder takes the name of the input
    assert subsalt_command("view", run, "-o", folder)[0] == 0


def test_report_and_export_name_what_they_wrote(done, subsalt_command):
    job, run = done, done.with_suffix(".run")
    assert str(run / "report.html") in subsalt_command("report", run)[1]
    assert str(job.with_suffix(".sgy")) in subsalt_command("export", run, job.with_suffix(".sgy"))[1]


def test_a_plan_is_quiet_about_how_it_measures_and_verbose_about_findings(job, subsalt_command):
    job.write_text(MIGRATE + "[parallel]\nranks_per_shot = 4\n")
    words = ("plan", job, "--ranks", "2", "--no-measure")
    usual, quiet, verbose = (subsalt_command(*words, *more)[1] for more in ((), ("-q",), ("-v",)))
    assert "W663" in usual
    assert "W663" not in quiet
    assert labels(quiet) == labels(usual)[: len(labels(quiet))]
    assert len(verbose.splitlines()) > len(usual.splitlines())
    assert subsalt_command(*words, "-q", "-v")[0] == 2


def test_a_movie_is_quiet_about_what_is_propagated_again(done, subsalt_command, monkeypatch):
    monkeypatch.chdir(done.parent)
    words = ("play", "line.run", "--fields", "source", "--size", "21", "--every", "10")
    usual, quiet, verbose = (subsalt_command(*words, *more)[1] for more in ((), ("-q",), ("-v",)))
    assert "again" in usual
    assert labels(quiet) == ["movie"]
    assert {"medium", "condition", "frames", "thinned", "movie"} <= set(labels(verbose))
