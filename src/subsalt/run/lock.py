"""One owner of a run directory: a file lock for this machine, and a lease that names the owner.

The ranks of a run also share the hashing of its inputs here, and check that all of them see the same directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import CannotCreateError
from subsalt.host import kills_for_memory
from subsalt.io import own
from subsalt.io.publish import explain_os_error, write_all
from subsalt.io.regular_files import read_json
from subsalt.job.inputs import input_facts
from subsalt.numerics.side_by_side import each
from subsalt.parallel.comm import Comm

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob

NAME = "run.lock"


def boot_id() -> str:
    """Return the identifier of this machine's boot: a process number means nothing after a restart."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_of(pid: int) -> int:
    """Return when a process of this machine started, in ticks since the boot; 0 when unknown."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def is_alive(lease: Mapping[str, object]) -> bool | None:
    """Return whether the process that a lease names still runs; None when it is on another machine.

    Parameters
    ----------
    lease : mapping
        Lease from `read_lease`.
    """
    pid = lease.get("pid")
    if not isinstance(pid, int):
        return False
    if lease.get("boot") != boot_id():
        return None if lease.get("host") != platform.node() else False
    if not Path(f"/proc/{pid}").exists():
        return False
    return lease.get("started", 0) in (0, start_of(pid))


def read_lease(folder: Path, name: str = NAME) -> dict[str, object]:
    """Return the lease of a run directory, empty when there is none; takes no lock and writes nothing."""
    try:
        content = read_json(folder / name)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


class RunLock:
    """The lock of a folder that one process at a time may fill; held from construction until `release`.

    Parameters
    ----------
    folder : Path
        The folder; it must exist.
    option : str
        Option of the command line that names another folder.
    name : str
        Name of the lock file.

    Raises
    ------
    CannotCreateError
        When another process holds the directory, with its process number and machine; or when the lock cannot
        be made.
    """

    def __init__(self, folder: Path, option: str = "--run", name: str = NAME) -> None:
        self.path = folder / name
        try:
            # no follow: somebody else's link must not be written through on a shared disk
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            own.refuse_shared(self._fd, self.path)
        except OSError as error:
            known = explain_os_error(error, self.path)
            if isinstance(known, CannotCreateError):
                known.fix = f"choose a folder that you may write to, with {option}"
            raise known from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = self._owner()
            os.close(self._fd)
            raise CannotCreateError(
                f"{folder} is in use by {owner}",
                f"wait for it, stop it, or choose another directory with {option}",
                code="E802",
            ) from None
        except OSError:
            # a file system without locks: the lease alone decides
            if self._is_alive():
                owner = self._owner()
                os.close(self._fd)
                raise CannotCreateError(
                    f"{folder} is in use by {owner}", "wait for it, or stop it", code="E802"
                ) from None
        #: lease of the last owner if it was killed, else empty
        self.previous = self._read()
        self.lease: dict[str, object] = {
            "pid": os.getpid(),
            "host": platform.node(),
            "boot": boot_id(),
            # process numbers are reused; the token identifies this start of a run
            "started": start_of(os.getpid()),
            "token": secrets.token_hex(8),
            "memory_kills": kills_for_memory(),
        }
        self._write(self.lease)

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def _read(self) -> dict[str, object]:
        try:
            data = b""
            while len(data) < 4096 and (piece := os.pread(self._fd, 4096, len(data))):
                data += piece
            content = json.loads(data or b"{}")
        except (ValueError, OSError):
            return {}
        return content if isinstance(content, dict) else {}

    def _write(self, lease: dict[str, object]) -> None:
        data = json.dumps(lease).encode() if lease else b""
        with contextlib.suppress(OSError):  # the lease only serves messages where locks work
            os.ftruncate(self._fd, 0)
            os.lseek(self._fd, 0, os.SEEK_SET)
            write_all(self._fd, data)

    def _owner(self) -> str:
        lease = self._read()
        return f"process {lease['pid']} on {lease.get('host', '?')}" if "pid" in lease else "another process"

    def _is_alive(self) -> bool:
        """Return whether the owner in the lease may still run; another machine's owner counts as alive."""
        lease = self._read()
        return lease.get("pid") != os.getpid() and is_alive(lease) is not False

    def release(self) -> None:
        """Release the directory."""
        if self._fd >= 0:
            self._write({})
            os.close(self._fd)
            self._fd = -1


def inputs_of(job: BaseJob, world: Comm) -> list[dict[str, object]]:
    """Return path, size and SHA-256 of every input file, each hashed by one rank. Collective."""
    with world.together():
        files = [(key, path) for key, paths in job.input_files().items() for path in paths]
        numbers = range(world.rank, len(files), world.size)

        def facts_of(i: int) -> dict[str, object]:
            key, path = files[i]
            return input_facts(key, path)

        mine = dict(zip(numbers, each(facts_of, numbers), strict=True))
    by_index = {int(i): facts for some in world.allgather(mine) for i, facts in some.items()}
    return [by_index[i] for i in range(len(files))]


def check_shared(folder: Path, world: Comm, lock: str = NAME) -> None:
    """Refuse a folder that is not the same one on all nodes. Collective.

    Raises
    ------
    CannotCreateError
        On all ranks, naming one that does not see the file of rank 0.
    """
    path = folder / lock
    lease = world.bcast(_lease(path) if world.is_root else None)
    failure = None
    if _lease(path) != lease:
        failure = CannotCreateError(
            f"{folder} is not the same folder on all nodes: what rank 0 wrote there is missing",
            "choose a folder on a file system that all nodes share",
            code="E830",
        )
    world.agree(failure)


def _lease(path: Path) -> object:
    try:
        return read_json(path)
    except (OSError, ValueError):
        return None
