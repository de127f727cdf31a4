"""What the package never does: run code that comes from data, start programs, open connections."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import subsalt
import subsalt_lab

PACKAGE, LAB = Path(subsalt.__file__).parent, Path(subsalt_lab.__file__).parent

MODULES = {
    *("pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"),
    *("yaml", "ruamel", "subprocess", "pty", "commands", "code", "codeop", "ctypes"),
    *("socket", "ssl", "http", "urllib", "requests", "ftplib", "smtplib", "xmlrpc"),
    *("fsspec", "s3fs", "aiohttp", "aiobotocore", "botocore", "boto3"),
}
BUILTINS = {"eval", "exec", "compile", "__import__", "execfile"}
#: methods of an mpi4py communicator that pickle what they are given; those with a capital letter send buffers
PICKLING = (
    "send",
    "recv",
    "sendrecv",
    "isend",
    "irecv",
    "issend",
    "ssend",
    "bsend",
    "bcast",
    "gather",
    "scatter",
)
PICKLING += ("allgather", "alltoall", "reduce", "allreduce", "scan", "exscan")
OF_OS = ("system", "popen", "exec", "spawn", "posix_spawn", "fork", "startfile")


#: what reads objects from the stores that a job names
OBJECTS = PACKAGE / "io" / "objects.py"
#: what starts the programs that the user asks to be measured; a shell is forbidden there too
STARTER = PACKAGE / "machine" / "programs.py"
#: what listens on 127.0.0.1, for `play --serve`
SERVER = PACKAGE / "view" / "movie_server.py"
#: where a profile of MPI calls is looked for that was loaded before, and whether MPI reaches GPUs; it opens nothing
MPI_LIBRARY = PACKAGE / "parallel" / "mpi_library.py"
#: what measures copies of a kernel at the same time: it makes copies of itself and starts no other program
COPIES = LAB / "copies_worker.py"
#: where the MPI library of a process is asked about its algorithms (MPI_T), which mpi4py cannot
MPI_TOOLS = LAB / "collectives" / "mpit.py"
#: what reads answers of web servers, behind `OBJECTS`
ANSWERS = PACKAGE / "io" / "http_answers.py"
#: what measures a tiny run of this program in a process of its own, when a plan is made
PROGRAM = PACKAGE / "plan" / "program.py"
#: what calls the plug-in of GPUs
CUDA = PACKAGE / "kernels" / "cuda"
#: what finds and loads the plug-in of GPUs
CUDA_LIBRARY = PACKAGE / "kernels" / "cuda_library.py"


#: what the text of a file has in which anything is forbidden: others need not be parsed
SUSPECT = re.compile(
    rf"\b(?:import|from)\b[^\n]*\b(?:{'|'.join(MODULES)})\b"
    rf"|\b(?:{'|'.join(BUILTINS)}|load)\s*\(|\bmpi\s*\.|\bos\s*\.\s*(?:{'|'.join(OF_OS)})"
    r"|\b(?:allow_pickle|shell)\s*="
)


def _lines_of(text: str, allowed: frozenset[str] = frozenset()) -> list[int]:
    """Return the lines of a source that do what none may do."""
    return list(_forbidden(ast.parse(text), allowed)) if SUSPECT.search(text) else []


def _forbidden(tree: ast.AST, allowed: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield the lines that run code from data, start programs, unpickle or reach for a network."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(n.split(".")[0] in MODULES - allowed for n in names):
            yield node.lineno
        if not isinstance(node, ast.Call):
            continue
        f = node.func
        if isinstance(f, ast.Name) and f.id in BUILTINS:
            yield node.lineno
        if (
            isinstance(f, ast.Attribute)
            and f.attr in PICKLING
            and ast.unparse(f.value).split(".")[-1] == "mpi"
        ):
            yield node.lineno
        if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name):
            if f.value.id == "os" and f.attr.startswith(OF_OS) and f"os.{f.attr}" not in allowed:
                yield node.lineno
            keywords = {k.arg: k.value for k in node.keywords}
            safe = keywords.get("allow_pickle")
            if f.value.id == "np" and f.attr == "load" and safe is None:
                yield node.lineno
        for k in node.keywords:
            false = isinstance(k.value, ast.Constant) and k.value.value is False
            if k.arg in ("allow_pickle", "shell") and not false:
                yield node.lineno


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from yaml import safe_load",
        "import urllib.request",
        "def f():\n import subprocess",
        "eval(text)",
        "exec(text)",
        "os.system('ls')",
        "os.execvp('ls', [])",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "read_array(f, allow_pickle=flag)",
        "run(command, shell=True)",
        "comm.mpi.bcast(x)",
        "mpi.allreduce(x)",
    ],
)
def test_the_search_finds(code: str) -> None:
    assert _lines_of(f"x = 1\n{code}\n")


def test_no_code_from_data() -> None:
    exceptions = {
        STARTER: {"subprocess"},
        SERVER: {"http", "socket"},
        OBJECTS: {"fsspec"},
        ANSWERS: {"aiohttp"},
        PROGRAM: {"subprocess"},
        MPI_LIBRARY: {"ctypes"},
        CUDA_LIBRARY: {"ctypes"},
        COPIES: {"os.fork"},
        MPI_TOOLS: {"ctypes"},
    }
    exceptions |= {path: {"ctypes"} for path in CUDA.glob("*.py")}
    offending, searched = {}, sorted(p for package in (PACKAGE, LAB) for p in package.rglob("*.py"))
    for path in searched:
        if lines := _lines_of(path.read_text("utf-8"), frozenset(exceptions.get(path, ()))):
            offending[str(path)] = lines
    assert not offending
    # each exception is one: it does what no other file may
    assert not [path for path in exceptions if path.parent != CUDA and not _lines_of(path.read_text("utf-8"))]
    assert len(searched) > 500


JOB = """
[grid]
spacing = 10
shape = [41, 31]
[source]
f0 = 15
[model]
vp = 2000
"""
MODELLED = """
[acquisition]
shots = { first = [100, 0], last = [300, 0], n = 1 }
receivers = { first = [0, 0], last = [400, 0], n = 21 }
record_length = 0.25
dt = 0.002
"""
MIGRATED = """
[data]
files = ["shots/*.sgy"]
[output]
formats = ["rsf", "npz"]
pictures = false
"""
#: events that never happen between reading a job and the image; importing modules does compile and exec
WATCHED = """
import os, sys
from pathlib import Path
BAD = (
    "pickle.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "subprocess.",
    "socket.", "urllib.", "http.", "ctypes.dlopen",
)

def watch(event, args):
    if event.startswith(BAD):
        os.write(2, f"{event} {args}\\n".encode())
        os._exit(9)

import subsalt._native
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job
import subsalt.report, subsalt.io.volumes.volume, numpy.random
sys.addaudithook(watch)
os.chdir(sys.argv[1])
model_job(Job.from_toml(Path("model.toml")), Path("shots"))
print(migrate_job(Job.from_toml(Path("job.toml")), Path("run")).sha256)
"""


def test_a_run_starts_nothing_and_calls_nobody(tmp_path: Path) -> None:
    """F18, F26: seen by the interpreter's own audit events, dependencies included."""
    (tmp_path / "model.toml").write_text(JOB + MODELLED)
    (tmp_path / "job.toml").write_text(JOB + MIGRATED)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()[-1]) == 64


def test_the_watch_would_see(tmp_path: Path) -> None:
    code = WATCHED.split("os.chdir")[0] + "import socket; socket.socket()"
    done = subprocess.run([sys.executable, "-c", code, "."], capture_output=True, text=True, check=False)
    assert done.returncode == 9
    assert "socket" in done.stderr
