"""Folders that the program has made: nothing in them is deleted, written or trusted through a link.

A run directory and the place of scratch may be reached through links: people keep their scratch on another disk. What
lies below is ours, and there a link can only lead to files of other users. The function that opens such a place claims
it; from then on the functions here reach what is below it from one folder to the next, each opened without following a
link (O_NOFOLLOW) and, where something is to be written or removed, looked at for its owner first. A link that is put in
place of a folder while the program works leads nowhere either: no path is looked up twice.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from subsalt.errors import CannotCreateError

AnyPath = str | os.PathLike[str]

#: by folder: the names in it that are ours, and whether only this user may own them (else the owner of the folder, too)
_claims: dict[str, dict[str, bool]] = {}

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

CURE = "remove it, or put a copy of what it leads to in its place; the whole of a run directory may be a link"


def claim(root: AnyPath, names: Collection[str], *, strict: bool = False) -> None:
    """Follow no link at and below the `names` in a folder, which itself may be reached through links.

    Parameters
    ----------
    root : path-like
        The folder; it need not exist.
    names : collection of str
        Names in it that are ours.
    strict : bool
        Only this user's folders are written to; else also those of the owner of `root`.
    """
    for key in {str(Path(root).absolute()), os.path.realpath(root)}:
        _claims.setdefault(key, {}).update(dict.fromkeys(names, strict))


class _Place(NamedTuple):
    """Where a path stands below a claimed folder."""

    root: str
    parts: tuple[str, ...]
    strict: bool


def _place(path: AnyPath) -> _Place | None:
    """Return where a path stands below the outermost claimed folder; None where no folder is claimed."""
    if not _claims:
        return None
    parts = Path(path).absolute().parts
    above = parts[0]  # ends with a slash, alone among the folders
    for n in range(1, len(parts)):
        known = _claims.get(above)
        if known is not None and parts[n] in known:
            return _Place(above, parts[n:], known[parts[n]])
        above = f"{above}{'/' * (n > 1)}{parts[n]}"
    return None


def _refused(path: AnyPath, what: str) -> CannotCreateError:
    return CannotCreateError(f"{path} {what}: nothing is read, written or removed there", CURE, code="E655")


def _walk(place: _Place, count: int, owned: bool) -> int:
    """Return the descriptor of the folder that the first `count` parts lead to, none of them a link."""
    fd = os.open(place.root, _FOLDER)
    try:
        owners = {os.geteuid()} | (set() if place.strict else {os.fstat(fd).st_uid})
        for n, part in enumerate(place.parts[:count], 1):
            if part == os.pardir:
                raise _refused(Path(place.root, *place.parts[:n]), "leads out of its folder")
            try:
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
            except OSError as e:
                here = Path(place.root, *place.parts[:n])
                if e.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise _refused(here, _kind(part, fd)) from None
                raise OSError(e.errno, os.strerror(e.errno or 0), str(here)) from None
            os.close(fd)
            fd = inner
            if owned and os.fstat(fd).st_uid not in owners:
                raise _refused(Path(place.root, *place.parts[:n]), "belongs to another user")
    except BaseException:
        os.close(fd)
        raise
    return fd


def _kind(name: str, folder: int) -> str:
    """Return in words what stands where a folder or a file was expected."""
    with suppress(OSError):
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            return "is a link"
    return "is no folder"


@contextmanager
def beside(path: AnyPath, owned: bool = True) -> Iterator[tuple[int | None, str]]:
    """Yield the descriptor of the folder of a path, and the name in it; None and the path where it is not claimed.

    Parameters
    ----------
    path : path-like
        A file or folder.
    owned : bool
        Something is to be written or removed there: folders of other users are refused.

    Raises
    ------
    CannotCreateError
        When there is a link, or another user's folder, in between (E655).
    """
    place = _place(path)
    if place is None:
        yield None, os.fspath(path)
        return
    if place.parts[-1] == os.pardir:
        raise _refused(path, "leads out of its folder")
    fd = _walk(place, len(place.parts) - 1, owned)
    try:
        yield fd, place.parts[-1]
    finally:
        os.close(fd)


@contextmanager
def folder(path: AnyPath, owned: bool = False) -> Iterator[int]:
    """Yield the descriptor of a folder, to list or to sync it."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    place = _place(path)
    if place is None:
        fd = os.open(path, flags)
    else:
        at = _walk(place, len(place.parts), owned)
        try:
            fd = os.open(".", flags, dir_fd=at)
        finally:
            os.close(at)
    try:
        yield fd
    finally:
        os.close(fd)


def open_file(path: AnyPath, flags: int, mode: int = 0o666) -> int:
    """Open a file as `os.open`; in a claimed folder without following a link."""
    with beside(path, owned=bool(flags & _WRITES)) as (fd, name):
        if fd is None:
            return os.open(name, flags | os.O_CLOEXEC, mode)
        try:
            return os.open(name, flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode, dir_fd=fd)
        except OSError as e:
            if e.errno == errno.ELOOP:
                raise _refused(path, "is a link") from None
            raise OSError(e.errno, os.strerror(e.errno or 0), os.fspath(path)) from None


def read_bytes(path: AnyPath) -> bytes:
    """Return the content of a file."""
    with open(open_file(path, os.O_RDONLY), "rb") as file:
        return file.read()


def read_text(path: AnyPath) -> str:
    """Return the content of a file in UTF-8."""
    return read_bytes(path).decode("utf-8")


def names_in(path: AnyPath) -> list[str]:
    """Return the names in a folder, sorted; none when it is not there."""
    try:
        with folder(path) as fd:
            return sorted(os.listdir(fd))
    except FileNotFoundError:
        return []


def replace(old: AnyPath, new: AnyPath) -> None:
    """Rename a file or folder, as `os.replace`."""
    with beside(old) as (a, x), beside(new) as (b, y):
        os.replace(x, y, src_dir_fd=a, dst_dir_fd=b)


def unlink(path: AnyPath) -> None:
    """Remove a file, as `os.unlink`; of a link its name goes, not what it leads to."""
    with beside(path) as (fd, name):
        os.unlink(name, dir_fd=fd)


def lstat(path: AnyPath) -> os.stat_result:
    """Return what the system says of a file or folder, as `os.lstat`."""
    with beside(path, owned=False) as (fd, name):
        return os.lstat(name, dir_fd=fd)


def make_folders(path: AnyPath, mode: int = 0o777) -> list[Path]:
    """Make a folder, with its parents; return those that were missing, the innermost first."""
    place = _place(path)
    if place is None:
        whole = Path(path)
        missing = [p for p in (whole, *whole.parents) if not p.exists()]
        whole.mkdir(parents=True, exist_ok=True, mode=mode)
        return missing
    made = make_folders(place.root)
    for n in range(len(place.parts)):
        here = Path(place.root, *place.parts[: n + 1])
        with beside(here) as (fd, name), suppress(FileExistsError):
            os.mkdir(name, mode if n == len(place.parts) - 1 else 0o777, dir_fd=fd)
            made.insert(0, here)
    with folder(path, owned=True):  # what was there already is a folder of ours
        return made


def remove_tree(name: str, at: int | None = None) -> None:
    """Remove what has a name in the folder `at`: a folder with all that is in it, of a link its name alone."""
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=at).st_mode):
            shutil.rmtree(name, ignore_errors=True, dir_fd=at)
        else:
            os.unlink(name, dir_fd=at)


def refuse_links(
    root: AnyPath,
    patterns: Sequence[str],
    *,
    in_place: Sequence[str] = (),
    outermost: Sequence[str] = (),
    owned: bool = False,
) -> None:
    """Refuse links among what is ours in a folder, by name, and files that are another's as well.

    Parameters
    ----------
    root : path-like
        The folder; nothing is done when it is missing.
    patterns : sequence of str
        Names in it that are ours; folders with all that is in them.
    in_place : sequence of str
        Names of files that are changed where they lie: a second name of such a file (a hard link) is refused, too.
    outermost : sequence of str
        Names of folders that are not looked into.
    owned : bool
        Folders of other users are refused: something will be written.

    Raises
    ------
    CannotCreateError
        E655, with all their names.
    """
    refused: list[str] = []
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return  # whoever needs it says what is wrong
    try:
        owners = {os.geteuid(), os.fstat(top).st_uid} if owned else None
        for entry in os.scandir(top):
            if not any(fnmatchcase(entry.name, p) for p in patterns):
                continue
            whole = Path(root, entry.name)
            if entry.is_symlink():
                refused.append(f"{whole} is a link")
            elif any(fnmatchcase(entry.name, p) for p in in_place):
                with suppress(FileNotFoundError):  # a log of the database may go at any time
                    why = _shared(entry.stat(follow_symlinks=False))
                    refused += [f"{whole} {why}"] * bool(why)
            elif entry.is_dir(follow_symlinks=False) and not any(
                fnmatchcase(entry.name, p) for p in outermost
            ):
                refused += _links_in(top, entry.name, whole, owners)
    finally:
        os.close(top)
    if refused:
        more = f"; and {len(refused) - 5} more" if len(refused) > 5 else ""
        raise CannotCreateError(
            f"{'; '.join(sorted(refused)[:5])}{more}: nothing is read, written or removed there",
            CURE,
            code="E655",
        )


def refuse_shared(fd: int, path: AnyPath) -> None:
    """Refuse to change a file where it lies that is no file, or has a second name (E655)."""
    if why := _shared(os.fstat(fd)):
        raise _refused(path, why)


def _shared(info: os.stat_result) -> str:
    """Return why a file must not be changed where it lies, in words; empty when it may."""
    if not stat.S_ISREG(info.st_mode):
        return "is no file"
    return "has a second name (a hard link)" if info.st_nlink > 1 else ""


def _links_in(at: int, name: str, whole: Path, owners: set[int] | None) -> list[str]:
    """Return the links in a folder and below it, in words; the folder alone when it belongs to another user."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    except OSError as e:
        # gone meanwhile, as scratch of an active run is, or put there meanwhile
        return [f"{whole} is a link"] if e.errno in (errno.ELOOP, errno.ENOTDIR) else []
    try:
        if owners is not None and os.fstat(fd).st_uid not in owners:
            return [f"{whole} belongs to another user"]
        out = []
        for entry in os.scandir(fd):
            if entry.is_symlink():
                out.append(f"{whole / entry.name} is a link")
            elif entry.is_dir(follow_symlinks=False):
                out += _links_in(fd, entry.name, whole / entry.name, owners)
        return out
    finally:
        os.close(fd)
