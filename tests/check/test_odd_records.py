"""No numpy warning, and neither "nan" nor "inf" as a number, reaches a user, whatever odd file a command is given."""

import re
import sys
import warnings
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "io"))
from odd_records import odd_files

from subsalt.job import checking
from thorough import sample

JOB = """
[data]
files = ["{file}"]
[model]
vp = {{ z = [0, 200, 400], value = [1500, 1800, 2200] }}
[grid]
spacing = 25
origin = [-200, 0]
shape = [40, 20]
[source]
f0 = 10
[imaging]
aperture = 100
[output]
pictures = false
"""
TIME_JOB = """
method = "kirchhoff"
[data]
files = ["{file}"]
[velocity]
v = 1800
"""
#: a number that is none; words such as "infinite" and "NaN" are no numbers
NO_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:nan|inf)(?![\w.])", re.IGNORECASE)


def odd_words(text):
    """Return the lines in which a number is none: JSON apart, where null stands for it."""
    return [line for line in text.splitlines() if NO_NUMBER.search(line.replace("NaN", ""))]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return list(odd_files(tmp_path_factory.mktemp("odd")))


def complaints(command, name, words):
    """Return the exit code, and what a command says that no user should see."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code, out, err = command(*words)
    said = [f"{w.category.__name__} {w.message} {w.filename}:{w.lineno}" for w in caught]
    said += odd_words(out + err) + [err] * (code == 70)
    return code, [f"{name}: {words[0]}: {line}" for line in said]


def test_what_is_no_number():
    assert odd_words("intercept nan s; lag -inf s, NaN\nratio inf") == [
        "intercept nan s; lag -inf s, NaN",
        "ratio inf",
    ]
    assert odd_words("infinite samples, NaN in trace 3\ninfo.txt, nano") == []


def test_no_warning_and_no_number_that_is_none(files, subsalt_command, tmp_path, monkeypatch):
    said, job, ran = [], tmp_path / "job.toml", 0
    judged = checking.judged
    for k, (name, path) in enumerate(files):
        # a trial of a cure is the same check again, of the same records: of some files in `make test`
        trials = k % sample(4, 1) == 0
        monkeypatch.setattr(checking, "judged", judged if trials else lambda job, findings, look: findings)
        (tmp_path / "time.toml").write_text(TIME_JOB.format(file=path))
        job.write_text(JOB.format(file=path))
        said += complaints(subsalt_command, name, ("scan", path))[1]
        said += complaints(subsalt_command, name, ("wavelet", job, "-o", tmp_path / "wavelet.txt"))[1]
        if k % sample(3, 1) == 0:
            said += complaints(subsalt_command, name, ("check", tmp_path / "time.toml", "--no-map"))[1]
        code, odd = complaints(subsalt_command, name, ("check", job, "--no-map"))
        said += odd
        # a run begins where nothing is wrong
        if code == 0 and ran < 1:
            ran += 1
            said += complaints(subsalt_command, name, ("plan", job))[1]
            code, odd = complaints(
                subsalt_command, name, ("migrate", job, "--run", tmp_path / f"{path.stem}.run")
            )
            said += odd
            assert code in (0, 65), name
    assert not said, "\n".join(dict.fromkeys(said))
    assert ran == 1
