"""Files appear complete or not at all, whatever system call fails."""

import ast
import errno
import hashlib
import itertools
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from subsalt.errors import CannotCreateError, DiskError, MissingInputError
from subsalt.io import publish
from subsalt.io.faults import FaultCounter, set_fault


@pytest.fixture
def fault():
    yield set_fault
    set_fault(None)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("forever", [False, True])
def test_every_failing_call_leaves_the_old_file_or_the_new_one(tmp_path, fault, code, forever):
    path = tmp_path / "a.bin"
    old, new = b"old", b"new" * 500_000
    seen = set()
    for k in itertools.count(1):
        fault(None)
        publish.publish_bytes(path, old)
        failing = FaultCounter(k, code, forever)
        fault(failing)
        refusal = None
        try:
            publish.publish_bytes(path, new)
        except (DiskError, CannotCreateError) as error:
            refusal = error
        if failing.count < k:  # there is no k-th call any more; the system may split writes anew each time
            assert refusal is None
            break
        assert str(tmp_path) in str(refusal)
        assert refusal.errno == code
        seen.add(failing.log[k - 1])
        # only the sync of the folder comes after the rename
        assert path.read_bytes() == (new if failing.log[k - 1] == "fsync-folder" else old)
        assert names(tmp_path) == ["a.bin"]
    assert seen >= {"open", "write"}


def test_short_writes_and_interrupts_are_invisible(tmp_path, fault):
    interrupts = iter(range(10_000))

    def hook(operation, path, nbytes):
        if operation == "write" and next(interrupts) % 3 == 0:
            raise InterruptedError(errno.EINTR, "interrupted")
        return 1 + nbytes // 7

    fault(hook)
    data = bytes(range(256)) * 5000
    publish.publish_bytes(tmp_path / "a", data)
    assert (tmp_path / "a").read_bytes() == data


def test_disk_full_says_need_and_have(tmp_path, fault):
    fault(FaultCounter(2, errno.ENOSPC, True))
    with pytest.raises(DiskError, match=r"disk full: need 3\.0 MB, have .* at .*x\.bin") as caught:
        publish.publish_bytes(tmp_path / "x.bin", b"x" * 3_000_000)
    assert caught.value.exit_code == 74
    assert caught.value.code == "E621"
    assert caught.value.fix


def test_too_large_a_size_is_refused_before_the_first_byte(tmp_path, fault):
    calls = FaultCounter()
    fault(calls)
    with pytest.raises(DiskError, match="need"), publish.atomic_write(tmp_path / "x", size=1 << 60):
        raise AssertionError("the block must not run")
    assert "write" not in calls.log
    assert names(tmp_path) == []


def test_a_real_file_size_limit(tmp_path):
    code = """
import resource, sys
from subsalt.io import publish
from subsalt.errors import DiskError
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    publish.publish_bytes(sys.argv[1], b"x" * 300_000)
except DiskError as e:
    print(e.code, e)
"""
    target = tmp_path / "big"
    run = subprocess.run([sys.executable, "-c", code, target], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("E621")
    assert "300.0 kB" in run.stdout
    assert names(tmp_path) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000


def test_what_cannot_be_created(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "no" / "x", tmp_path / "folder", tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(CannotCreateError) as caught:
            publish.publish_bytes(target, b"x")
        assert caught.value.exit_code == 73
        assert str(target) in str(caught.value)
    assert names(tmp_path) == ["folder", "pipe"]


def test_a_folder_without_permission():
    nobody = 65534
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "ro")
        folder.mkdir()
        folder.chmod(0o555)
        # root may write anywhere: it is somebody else meanwhile, who may pass through the folders above
        os.chmod(made, 0o755)
        before = os.geteuid()
        os.seteuid(nobody if before == 0 else before)
        try:
            with pytest.raises(CannotCreateError, match="ermission"):
                publish.publish_bytes(folder / "x", b"x")
            assert os.listdir(folder) == []
        finally:
            os.seteuid(before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MissingInputError])
def test_an_exception_inside_passes_and_leaves_nothing(tmp_path, error):
    def write_and_fail():
        with publish.atomic_write(tmp_path / "x") as f:
            f.write(b"part")
            raise error("stop")

    with pytest.raises(error):
        write_and_fail()
    assert names(tmp_path) == []


def test_text_seek_and_hashes(tmp_path):
    with publish.atomic_write(tmp_path / "t", "w") as f:
        f.write("äöü\n")
    assert (tmp_path / "t").read_text("utf-8") == "äöü\n"
    with publish.atomic_write(tmp_path / "s") as f:
        f.write(b"....tail")
        f.seek(0)
        f.write(b"head")
    assert (tmp_path / "s").read_bytes() == b"headtail"
    digest = publish.publish_bytes(tmp_path / "b", b"abc")
    assert digest == hashlib.sha256(b"abc").hexdigest() == publish.sha256_file(tmp_path / "b")
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert publish.publish_array(tmp_path / "a.npy", a.T) == publish.sha256_file(tmp_path / "a.npy")
    assert np.array_equal(np.load(tmp_path / "a.npy"), a.T)
    publish.append_line(tmp_path / "log", "one")
    publish.append_line(tmp_path / "log", "two\n")
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_a_folder_is_published_whole(tmp_path, fault):
    def fill(folder):
        (folder / "sub").mkdir()
        (folder / "sub" / "x").write_text("x")

    with publish.publish_folder(tmp_path / "store") as folder:
        fill(folder)
    calls = FaultCounter()
    fault(calls)
    with publish.publish_folder(tmp_path / "store") as folder:
        fill(folder)
    for k in range(1, calls.count + 1):
        fault(FaultCounter(k, errno.EIO))
        with pytest.raises(DiskError), publish.publish_folder(tmp_path / "store") as folder:
            fill(folder)
        fault(None)
        assert (tmp_path / "store" / "sub" / "x").read_text() == "x"
        assert [n for n in names(tmp_path) if not n.endswith(".old")] == ["store"]


# what else may write: the lock does it by its own rules, and heartbeats lie in memory, in a file without a name
_ALLOWED = {
    "io/publish.py",
    "io/scratch.py",
    "io/shared_file.py",
    "run/lock.py",
    "parallel/watchdog.py",
}


#: what stands in the text of a file that calls one of them: others need not be parsed
_SUSPECT = re.compile(
    r"\b(?:open|write_text|write_bytes|tofile|savetxt|NamedTemporaryFile|mkstemp|save|savez|savez_compressed"
    r"|memmap|open_memmap|shutil\s*\.\s*(?:copy|move)\w*)\s*\("
)


def _writes_of(text: str):
    """Return the lines of a source that create or change files."""
    return list(_writes(ast.parse(text))) if _SUSPECT.search(text) else []


def _writes(tree: ast.AST):
    """Yield the lines of calls that create or change files."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        f = node.func
        name = f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
        owner = f.value.id if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) else ""
        modes = [
            a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)
        ]
        writing = any(
            isinstance(m, str) and m and set(m) <= set("rwaxbt+") and set(m) & set("wax+") for m in modes
        )
        if (name == "open" and owner not in ("", "os", "zipfile") and writing) or (
            name == "open" and not owner and writing
        ):
            yield node.lineno
        if name in ("write_text", "write_bytes", "tofile", "savetxt", "NamedTemporaryFile", "mkstemp"):
            yield node.lineno
        if name in ("save", "savez", "savez_compressed") and owner in ("np", "numpy"):
            # into a buffer in memory is fine
            target = node.args[0] if node.args else None
            if not (isinstance(target, ast.Name) and target.id in ("buffer", "f", "stream")):
                yield node.lineno
        flags = {a.attr for a in ast.walk(node) if isinstance(a, ast.Attribute)}
        if (
            name == "open"
            and owner == "os"
            and "devnull" not in flags
            and flags & {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND"}
        ):
            yield node.lineno
        if owner == "shutil" and name.startswith(("copy", "move")):
            yield node.lineno
        if name in ("memmap", "open_memmap") and "r" not in modes:
            yield node.lineno


@pytest.mark.parametrize(
    "code",
    [
        "open('file.dat', 'w')",
        "open('file.dat', mode='r+b')",
        "path.open('ab')",
        "io.open('file.dat', 'x')",
        "path.write_text('a')",
        "a.tofile('x')",
        "np.save('x', a)",
        "np.savez_compressed(path, a=a)",
        "os.open(p, os.O_RDWR | os.O_CREAT)",
        "os.open(p, os.O_WRONLY)",
        "shutil.copyfile(a, b)",
        "np.memmap(p, mode='w+')",
    ],
)
def test_a_write_outside_would_be_found(code):
    assert list(_writes_of(code)) == [1]


@pytest.mark.parametrize(
    "code", ["open('file.dat', 'rb')", "path.open()", "np.savez(buffer, a=a)", "os.open(p, os.O_RDONLY)"]
)
def test_reading_is_no_write(code):
    assert not list(_writes(ast.parse(code)))


def test_nothing_writes_outside_the_publishing_layer():
    root = Path(publish.__file__).parents[1]
    writers = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name not in _ALLOWED:
            writers += [f"{name}:{line}" for line in _writes_of(path.read_text("utf-8"))]
    assert not writers, f"write through subsalt.io.publish instead: {writers}"


def _small_disk() -> bool:
    """Say whether an ordinary user may mount a small file system here."""
    tried = (
        subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False) if _UNSHARE else None
    )
    return tried is not None and tried.returncode == 0


_UNSHARE = shutil.which("unshare")
_FILL = """
import os, sys
import numpy as np
from subsalt.errors import SubsaltError
from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
grid = Grid((60, 60, 100), (1.0, 1.0, 1.0))
a = np.random.default_rng(0).standard_normal(grid.shape).astype(np.float32)
for name in ("a.sgy", "a.rsf", "a.npz", "a.npy", "a.vti", "a.nc"):
    try:
        volume.write(os.path.join(sys.argv[1], name), grid, a)
    except SubsaltError as e:
        print(e.exit_code, e.code, e)
print(os.listdir(sys.argv[1]))
"""


@pytest.mark.skipif(not _small_disk(), reason="no unprivileged mounts (unshare -Urm)")
@pytest.mark.parametrize(
    ("option", "code", "word"), [("size=1m", "74 E621", "have 1.0 MB"), ("ro", "73 E630", "")]
)
def test_a_small_and_a_read_only_disk(tmp_path, option, code, word):
    mount = f'mount -t tmpfs -o {option} tmpfs "$1" && exec "$2" -c "$3" "$1"'
    run = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", mount, "sh", tmp_path, sys.executable, _FILL],
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, left = run.stdout.splitlines()
    assert len(lines) == 6
    assert all(line.startswith(code) and word in line for line in lines), lines
    assert left == "[]"
