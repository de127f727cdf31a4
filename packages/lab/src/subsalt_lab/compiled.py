"""Compile a small C program or library on this machine, once, with the compiler that fits the MPI in use.

What was made is kept in the user's cache folder under a name that holds a hash of everything it was made from; where
that folder cannot be written it lies in a folder of this user among the temporary files.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from subsalt.errors import DeviceError, DiskError, ResourceError, SubsaltError
from subsalt.io.publish import make_folder, publish_bytes
from subsalt.machine import machine_file as machine
from subsalt.machine import programs

#: seconds that a compiler may take
PATIENCE = 300.0


def compiled(
    name: str,
    sources: Sequence[Path],
    compiler: Sequence[str],
    flags: Sequence[str] = (),
    made_from: str = "",
) -> Path:
    """Return a program or library made from C sources; compiles it unless it is there.

    The variable CFLAGS adds words behind all others, as it does to a build.

    Parameters
    ----------
    name : str
        Name of the file, before the hash.
    sources : sequence of Path
        C texts, compiled together.
    compiler : sequence of str
        Its words, such as ``["mpicc"]``.
    flags : sequence of str
        Further words.
    made_from : str
        Whatever else the result depends on, such as the text of headers.

    Raises
    ------
    DeviceError
        When the compiler cannot be started or fails (E950).
    """
    words = [*compiler, "-std=c11", "-O2", *flags, *shlex.split(os.environ.get("CFLAGS", ""))]
    digest = hashlib.sha256("\0".join([*words, _describe(compiler), made_from]).encode())
    for source in sources:
        digest.update(source.read_bytes())
    file = f"{name}-{digest.hexdigest()[:16]}"
    for folder in (machine.default_path().parent / "compiled", _own_temporary()):
        if os.access(folder / file, os.X_OK) and folder.stat().st_uid == os.getuid():
            return folder / file
    with tempfile.TemporaryDirectory(prefix="subsalt-compile-") as made:
        out = Path(made) / name
        try:
            programs.run(
                [*words, *map(str, sources), "-o", str(out)], what=f"compiling {name}", timeout=PATIENCE
            )
        except SubsaltError as error:
            raise DeviceError(
                error.message,
                f"try the compiler by itself: {shlex.join(compiler)} --version",
                code="E950",
            ) from None
        content = out.read_bytes()
    try:
        return _keep(machine.default_path().parent / "compiled" / file, content)
    except ResourceError:
        return _keep(_own_temporary() / file, content)


def _describe(compiler: Sequence[str]) -> str:
    """Return what a compiler says of itself: another version makes another file."""
    said = []
    for option in ("--version", "-show"):
        try:
            said.append(programs.run([*compiler, option], what=compiler[0], timeout=PATIENCE).stdout)
        except SubsaltError:
            continue
    return "\n".join(said)


def _own_temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"subsalt-compiled-{os.getuid()}"


def _keep(path: Path, content: bytes) -> Path:
    """Write a program under its name, complete or not at all."""
    make_folder(path.parent)
    if path.parent.stat().st_uid != os.getuid():
        raise DiskError(f"{path.parent} belongs to another user", "remove it, or set TMPDIR", code="E620")
    publish_bytes(path, content)
    path.chmod(0o755)
    return path
