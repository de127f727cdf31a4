"""Small C programs of the lab: compiled once, again when anything they are made from changes."""

import shutil
import subprocess

import pytest

from subsalt.errors import DeviceError
from subsalt_lab import compiled as module
from subsalt_lab.compiled import compiled

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler on PATH")


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "answer.c"
    file.write_text("int main(void) { return ANSWER; }\n")
    return file


def answer(path):
    return subprocess.run([path], check=False).returncode


@needs_cc
def test_a_program_is_compiled_once(source, monkeypatch):
    path = compiled("answer", [source], [CC], ["-DANSWER=42"])
    assert answer(path) == 42
    before = path.stat().st_mtime_ns
    assert compiled("answer", [source], [CC], ["-DANSWER=42"]) == path
    assert path.stat().st_mtime_ns == before


@needs_cc
def test_another_text_flag_or_header_makes_another_program(source):
    paths = {compiled("answer", [source], [CC], ["-DANSWER=1"])}
    paths.add(compiled("answer", [source], [CC], ["-DANSWER=2"]))
    paths.add(compiled("answer", [source], [CC], ["-DANSWER=2"], made_from="another header"))
    source.write_text("int main(void) { return ANSWER + 1; }\n")
    paths.add(compiled("answer", [source], [CC], ["-DANSWER=2"]))
    assert len(paths) == 4
    assert sorted(map(answer, paths)) == [1, 2, 2, 3]


@needs_cc
def test_flags_of_the_environment_come_last_and_make_another_program(source, monkeypatch):
    paths = [compiled("answer", [source], [CC], ["-DANSWER=1"])]
    monkeypatch.setenv("CFLAGS", "-UANSWER '-DANSWER=1 + 1'")
    paths.append(compiled("answer", [source], [CC], ["-DANSWER=1"]))
    assert list(map(answer, paths)) == [1, 2]


@needs_cc
def test_a_cache_that_cannot_be_written_is_no_obstacle(source, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(module, "_own_temporary", lambda: tmp_path / "temporary")
    path = compiled("answer", [source], [CC], ["-DANSWER=7"])
    assert path.parent == tmp_path / "temporary"
    assert answer(path) == 7


@needs_cc
def test_what_the_compiler_says_is_passed_on(source):
    with pytest.raises(DeviceError, match="ANSWER") as caught:
        compiled("answer", [source], [CC])
    assert caught.value.code == "E950"
    assert CC in caught.value.fix


def test_a_compiler_that_is_not_there_is_named(source):
    with pytest.raises(DeviceError, match="no-such-compiler cannot be started"):
        compiled("answer", [source], ["no-such-compiler"])
