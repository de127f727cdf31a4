"""Files in object stores and on web servers: their names, and their bytes by ranges, through fsspec (extra ``cloud``).

A name such as ``s3://bucket/line.sgy`` or ``https://server/line.sgy`` stands where that of a file does. Every
range that is asked for is one request; ranges near each other become one, many are asked for at the same time, and what
is small is taken from blocks that are kept. Access rights come from where the store's own tools find them (environment,
configuration of fsspec); a name never holds any.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PosixPath
from threading import Lock
from typing import Any

from subsalt.errors import ConfigError, DataError, MissingInputError, ResourceError

#: seconds that a store may take for an answer, and pauses before each further try
TIMEOUT, PAUSES = 60.0, (0.5, 2.0, 5.0)
#: bytes of a block that is kept for small reads, and blocks kept of all objects together: 32 MB
BLOCK, KEPT = 1 << 18, 128
#: bytes of the longest single request; longer reads are several at the same time
PART = 4 << 20
#: ranges closer than this are one request: in the time that one costs the processor, so many bytes come anyway
GAP = 1 << 16
#: requests that are on the way at one time, and bytes
REQUESTS, AT_ONCE = 64, 32 << 20

_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+")
_SECRET = re.compile(r"[?&][a-z-]*(signature|token|key|credential|sig)[a-z-]*=", re.IGNORECASE)
_CONFIGURE = "in the clone: pip install -e '.[cloud]'"


class UrlPath(PosixPath):
    """The name of an object as a path: ``name``, ``suffix``, ``parent`` and ``/`` as of files."""

    def __str__(self) -> str:
        return _URL.sub(r"\1://", super().__str__(), count=1)

    def exists(self, **_: Any) -> bool:
        """Return whether the store has the object, or a folder of this name."""
        return bool(_Store(self).ask("exists"))

    def is_file(self, **_: Any) -> bool:
        """Return whether the store has the object."""
        return bool(_Store(self).ask("isfile"))

    def is_dir(self, **_: Any) -> bool:
        """Return whether the store has objects below this name."""
        return bool(_Store(self).ask("isdir"))

    def resolve(self, strict: bool = False) -> UrlPath:
        """Return the same name: a store has no links."""
        return self


def as_path(name: str | os.PathLike[str]) -> Path:
    """Return a name as a path; one with a scheme, such as ``s3://``, as a `UrlPath`.

    Raises
    ------
    ConfigError
        When the name holds a password or a signature: it would stand in logs and in the record of the run.
    """
    text = os.fspath(name)
    if isinstance(name, UrlPath):
        return name
    if not _URL.match(text):
        return name if isinstance(name, Path) else Path(name)
    if text.startswith("file:"):
        return Path(text[5:].replace("//", "", 1))
    scheme, rest = _URL.match(text)[1], _URL.sub("", text, count=1)  # type: ignore[index]
    server, _, place = rest.partition("/")
    if "@" in server or _SECRET.search(rest):
        plain = f"{scheme}://{server.rpartition('@')[2]}/{place.partition('?')[0]}"
        raise ConfigError(
            f"{plain}: its name holds a password or signature, which would stand in the record of the run",
            "give the plain name; access rights come from the environment or from the configuration of fsspec",
            code="E117",
        )
    return UrlPath(text)


def as_paths(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return one path or many as a list, in the given order."""
    if isinstance(paths, str | os.PathLike):
        return [as_path(paths)]
    named = [as_path(p) for p in paths]
    if not named:
        raise MissingInputError("no file was given", "name at least one SEG-Y or SU file")
    return named


def is_url(path: Path) -> bool:
    """Return whether a path is the name of an object in a store."""
    return isinstance(path, UrlPath)


def refuse_url(path: Path, key: str) -> None:
    """Raise `ConfigError` for the name of an object where files alone are read."""
    if is_url(path):
        raise ConfigError(
            f"{key}: {path} is an object in a store; there only files on disks are read",
            "copy it to a disk; traces, and volumes as .sgy, .rsf, .npy or .zarr, are read from stores",
            code="E117",
        )


def matching(pattern: str) -> list[str]:
    """Return the names that a pattern stands for, of files or of objects in a store; none when nothing matches."""
    path = as_path(pattern)
    if not is_url(path):
        return glob.glob(str(path), recursive=True)
    store = _Store(path)
    return [str(as_path(store.fs.unstrip_protocol(name))) for name in store.ask("glob")]


def web_options(path: Path) -> dict[str, Any]:
    """Return the options of fsspec for web servers, which bound what is read; none for other stores."""
    if not str(path).startswith(("http://", "https://")):
        return {}
    from subsalt.io.http_answers import client

    return {"get_client": client}


class _Store:
    """A file system of fsspec and a name in it."""

    def __init__(self, path: Path) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as e:
            raise ConfigError(
                f"{path} needs the package fsspec, which is not installed", _CONFIGURE, code="E115"
            ) from e
        self.path = path
        try:
            self.fs, self.key = url_to_fs(str(path), use_listings_cache=False, **web_options(path))
        except ImportError as e:
            raise ConfigError(f"{path}: {e}", _CONFIGURE, code="E115") from e
        except ValueError as e:
            raise ConfigError(
                f"{path}: {e}", "use a scheme that fsspec knows, such as s3, gs, az, https", code="E117"
            ) from e

    def ask(self, what: str) -> Any:
        """Return the answer to a call of the file system about the name; failures that may pass are tried again."""
        return self.call(what, self.key)

    def find(self) -> dict[str, Any]:
        """Return what the store says of every object below the name."""
        objects: dict[str, Any] = self.call("find", self.key, detail=True)
        return objects

    def call(self, what: str, *args: Any, **more: Any) -> Any:
        """Return what a call of the file system returns, see `ask`."""
        for pause in (*PAUSES, None):
            try:
                return self._once(what, args, more)
            except Exception as e:  # every store raises types of its own
                known = _explained(e, self.path, len(PAUSES) + 1)
                if pause is None or not isinstance(known, ResourceError):
                    raise known from e
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _once(self, what: str, args: Sequence[Any], more: dict[str, Any]) -> Any:
        if getattr(self.fs, "async_impl", False):
            from fsspec.asyn import sync

            answer = sync(self.fs.loop, getattr(self.fs, f"_{what}"), *args, timeout=TIMEOUT, **more)
        else:
            answer = getattr(self.fs, what)(*args, **more)
        # of many requests, those that failed are returned as results
        failed = [one for one in answer if isinstance(one, Exception)] if what == "cat_ranges" else []
        if failed:
            raise failed[0]
        return answer


def _explained(error: Exception, path: Path, tries: int) -> Exception:
    """Return what went wrong in a store: missing, not allowed, or a failure that may pass (`ResourceError`)."""
    status = _status(error)
    name = type(error).__name__
    if isinstance(error, PermissionError) or status in (401, 403) or "Credential" in name:
        return MissingInputError(
            f"{path} may not be read: {_short(error)}",
            "give access rights as the store's own tools take them, such as AWS_PROFILE or AWS_ACCESS_KEY_ID",
            code="E111",
        )
    if isinstance(error, DataError):
        return error
    unreached = next(
        (e for e in _chain(error) if isinstance(e, ConnectionError) or "Connect" in type(e).__name__), None
    )
    if status == 404 or (isinstance(error, FileNotFoundError) and status is None and unreached is None):
        return MissingInputError(f"{path} does not exist in its store", "check the name", code="E110")
    if isinstance(error, TimeoutError):
        what = f"no answer within {TIMEOUT:g} s"
    elif isinstance(error, ImportError | NotImplementedError | TypeError | ValueError) and status is None:
        return ConfigError(f"{path} cannot be read through fsspec: {_short(error)}", _CONFIGURE, code="E117")
    else:
        what = _short(unreached or error)
    return ResourceError(
        f"{path}: the store failed {tries} times, at last: {what}",
        "check the network and the state of the store; running the same command again continues the run",
        code="E602",
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an error, or one that it came from, was answered with."""
    for one in _chain(error):
        status, answer = getattr(one, "status", None), getattr(one, "response", None)
        if isinstance(answer, dict):  # botocore
            status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", status)
        if isinstance(status, int):
            return status
    return None


def _short(error: BaseException) -> str:
    return f"{type(error).__name__} {str(error)[:200]}".strip()


class _Blocks:
    """Blocks of objects that were read last, of all objects together `KEPT`."""

    def __init__(self) -> None:
        self._lock, self._kept = Lock(), OrderedDict[tuple[str, int, int], bytes]()

    def get(self, key: tuple[str, int, int], read: Callable[[], bytes]) -> bytes:
        """Return a block: kept, or read now."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        block = read()
        with self._lock:
            self._kept[key] = block
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return block


_BLOCKS = _Blocks()


@dataclass
class _Span:
    """Bytes of an object that one request brings, and the pieces to fill from them."""

    begin: int
    end: int
    pieces: list[tuple[int, memoryview]]


class StoredObject:
    """An object in a store, read by ranges.

    Parameters
    ----------
    path : UrlPath
        Its name.

    Attributes
    ----------
    size : int
        Bytes.
    version : str
        Mark of its content by the store (etag, or time of change); empty when it says nothing.
    stamp : int
        A number that changes with size and version.

    Raises
    ------
    MissingInputError
        It does not exist, or may not be read.
    ConfigError
        No such scheme, or its package is not installed.
    ResourceError
        The store does not answer, or answers with errors, after several tries.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._store = path, _Store(path)
        info = self._store.ask("info")
        if info.get("type") == "directory":
            raise MissingInputError(
                f"{path} is a folder of objects, not one", "name the objects in it", code="E110"
            )
        if info.get("size") is None or info.get("partial") is False:
            what = "does not say its size" if info.get("size") is None else "serves no byte ranges"
            raise DataError(
                f"{path}: the server {what}",
                "download the file, or ask for a server that answers requests for byte ranges",
                code="E603",
            )
        self.size = int(info["size"])
        self.version = _version(info)
        self.stamp = int.from_bytes(
            hashlib.sha256(f"{self.size} {self.version}".encode()).digest()[:7], "big"
        )

    def read_into(self, offset: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `offset`; return how many came from the store.

        Raises
        ------
        EOFError
            The object ends before.
        """
        if offset + len(out) > self.size:
            raise EOFError
        if len(out) >= BLOCK:
            return self.read_ranges([offset], [out])
        came, done = 0, 0
        while done < len(out):
            number, inside = divmod(offset + done, BLOCK)
            fresh: list[int] = []

            def read(number: int = number, fresh: list[int] = fresh) -> bytes:
                block = bytearray(min(BLOCK, self.size - number * BLOCK))
                fresh.append(self.read_ranges([number * BLOCK], [memoryview(block)]))
                return bytes(block)

            block = _BLOCKS.get((str(self.path), self.stamp, number), read)
            n = min(len(out) - done, len(block) - inside)
            out[done : done + n] = block[inside : inside + n]
            done, came = done + n, came + sum(fresh)
        return came

    def read_ranges(self, offsets: Iterable[int], outs: Iterable[memoryview]) -> int:
        """Fill each of `outs` with the bytes from its offset, many requests at a time; return how many bytes came.

        Ranges closer than `GAP` are one request.

        Raises
        ------
        EOFError
            The object ends before the end of one.
        """
        pieces = sorted(
            (
                (at + a, out[a : a + PART])
                for at, out in zip(offsets, outs, strict=True)
                for a in range(0, len(out), PART)
            ),
            key=lambda piece: piece[0],
        )
        if any(at + len(out) > self.size for at, out in pieces):
            raise EOFError
        spans: list[_Span] = []
        for at, out in pieces:
            last = spans[-1] if spans else None
            end = at + len(out)
            if last is not None and at - last.end <= GAP and end - last.begin <= PART:
                last.end = max(last.end, end)
                last.pieces.append((at, out))
            else:
                spans.append(_Span(at, end, [(at, out)]))
        batch: list[list[_Span]] = [[]]
        for span in spans:
            if len(batch[-1]) == REQUESTS or sum(s.end - s.begin for s in batch[-1]) >= AT_ONCE:
                batch.append([])
            batch[-1].append(span)
        return sum(self._fetch(some) for some in batch if some)

    def _fetch(self, spans: list[_Span]) -> int:
        """Read spans at the same time, and fill the pieces they consist of."""
        begins, ends = [span.begin for span in spans], [span.end for span in spans]
        parts = self._store.call("cat_ranges", [self._store.key] * len(spans), begins, ends)
        for span, data in zip(spans, parts, strict=True):
            wanted = span.end - span.begin
            if len(data) != wanted:
                raise DataError(
                    f"{self.path}: {wanted} bytes were asked for from byte {span.begin}, {len(data)} came",
                    "download the file, or ask for a server that answers requests for byte ranges",
                    code="E603",
                )
            for at, out in span.pieces:
                out[:] = data[at - span.begin : at - span.begin + len(out)]
        return sum(ends) - sum(begins)

    def fingerprint(self) -> str:
        """Return a SHA-256 that tells contents apart: of size and version, of all bytes where no version is known."""
        if self.version:
            return hashlib.sha256(f"{self.size} {self.version}".encode()).hexdigest()
        digest, buffer = hashlib.sha256(), memoryview(bytearray(AT_ONCE))
        for begin in range(0, self.size, AT_ONCE):
            part = buffer[: min(AT_ONCE, self.size - begin)]
            self.read_ranges([begin], [part])
            digest.update(part)
        return digest.hexdigest()


def tree_fingerprint(path: Path) -> tuple[int, str]:
    """Return the size of all that lies in a folder or below a name of a store, and a SHA-256 of its contents.

    Of files it is that of all their bytes; of objects, of their names, sizes and versions.
    """
    digest, total = hashlib.sha256(), 0
    if is_url(path):
        store = _Store(path)
        for name, info in sorted(store.find().items()):
            size, said = int(info.get("size") or 0), _version(info)
            digest.update(f"{name[len(store.key) :]} {size} {said}\n".encode())
            total += size
        return total, digest.hexdigest()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()} {file.stat().st_size}\n".encode())
        with open(file, "rb", buffering=0) as data:
            while piece := data.read(1 << 22):
                digest.update(piece)
        total += file.stat().st_size
    return total, digest.hexdigest()


def _version(info: dict[str, Any]) -> str:
    """Return what a store says of the content of an object; empty when it says nothing."""
    said = {k.lower(): v for k, v in info.items() if v}
    names = ("etag", "content-md5", "digest", "md5hash", "lastmodified", "last_modified", "mtime", "created")
    return next((f"{name} {said[name]}" for name in names if name in said), "")
