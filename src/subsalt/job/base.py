"""The common part of jobs of all methods: reading and validating the file, names, inputs, text, and the run id.

`class_of` finds the class of job for the content of a file.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import Field, PrivateAttr, ValidationError

from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError, Finding, FindingsError, MissingInputError
from subsalt.io.regular_files import read_regular
from subsalt.job import errors as job_errors
from subsalt.job.units import Section, shown
from subsalt.methods import DEFAULT, METHODS, method_of
from subsalt.missing_files import missing_file


def read_job(path: str | Path) -> BaseJob:
    """Read and validate a job file of any method; see `BaseJob.from_toml`."""
    job: BaseJob = method_of(DEFAULT).job_class().from_toml(path)
    return job


def class_of(raw: dict[str, Any], line: int = 0) -> type[BaseJob]:
    """Return the class of job that the content of a file asks for; `line` is where its `method` stands, if anywhere.

    Raises
    ------
    FindingsError
        When there is no such method; exit code 78.
    """
    method = raw.get("method", DEFAULT)
    if isinstance(method, str) and method in METHODS:
        kind: type[BaseJob] = method_of(method).job_class()
        return kind
    known = ", ".join(METHODS)
    close = difflib.get_close_matches(shown(method).lower(), METHODS, n=1)
    where = f"method (line {line})" if line else "method"
    finding = Finding(
        "E104",
        "error",
        f"{where}: {shown(method)} is not one of {known}",
        f"did you mean {close[0]!r}?" if close else f"use one of {known}",
        {"key": "method", "line": line or None},
    )
    raise FindingsError([finding], exit_code=ConfigError.exit_code)


def without_method(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file for validation: the key of the default method says nothing."""
    return {k: v for k, v in raw.items() if (k, v) != ("method", DEFAULT)}


#: bytes of a job file: one that names a hundred thousand files has 10 MB
MOST_TEXT = 64 << 20

#: tables that cannot change the image of any method, hence are no part of the run id
WITHOUT_INFLUENCE = ("title", "output", "parallel")

#: place of a run directory of 0.7 or before: it does not say the frame of its line, which is found as it was then
BEFORE_FRAMES = "as in 0.7"


#: steps on the traces in one list, as `init` writes them
_STEPS = re.compile(r"^\s*signal\s*=", re.MULTILINE)


class BaseJob(Section):
    """A validated job file, whatever its method.

    A method declares its tables; those named `data`, `signal`, `parallel` and `output` mean the same to all.
    """

    if TYPE_CHECKING:
        method: ClassVar[str]
        data: Any
        signal: Any
        parallel: Any
        output: Any

    title: str = Field("", description="a name for pictures and the report")

    _path: Path | None = PrivateAttr(None)
    _base: Path = PrivateAttr(Path("."))
    _name: str = PrivateAttr("")
    _memory: dict[str, Any] = PrivateAttr(default_factory=dict)
    _run_place: Frame | str | None = PrivateAttr(None)
    _steps_in_list: bool = PrivateAttr(False)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read and validate a job file; its `method` decides which class of job it becomes.

        Parameters
        ----------
        path : str or Path
            The file; relative names in it count from its folder.

        Raises
        ------
        MissingInputError
            When there is no such file.
        ConfigError
            When it is no TOML.
        FindingsError
            With all errors of the file, exit code 78.
        """
        path = Path(path)
        text = _read_text(path)
        if path.suffix.lower() in _DATA:
            raise _no_job(path, "")
        try:
            raw = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits, tables in tables
            raise ConfigError(
                f"{path}: {str(error)[:300]}",
                "texts need quotes, tables are [name], lists [1, 2]",
                code="E106",
            ) from None
        return cls._build(raw, text, path)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], base: str | Path = ".", *, name: str = "") -> Self:
        """Validate a job given as a dictionary; relative file names count from `base`; `name` is what it is called."""
        job = cls._build(dict(raw), "", None)
        job._base, job._name = Path(base), name
        return job

    def with_tables(self, raw: dict[str, Any]) -> Self:
        """Return the job of other tables, under the name, in the folder and at the place of this one."""
        job = type(self)._build(raw, "", None)
        job._path, job._base, job._name = self._path, self._base, self._name
        job._run_place, job._steps_in_list = self._run_place, self._steps_in_list
        return job

    @property
    def steps_in_list(self) -> bool:
        """Whether the file has its steps as ``signal = [...]``, beside which TOML allows no ``[[signal]]``."""
        return self._steps_in_list

    def changed(self, section: str, **values: Any) -> Self:
        """Return the job with other values in one of its tables; what it leaves open stays open."""
        raw = self.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        raw[section] = {**raw.get(section, {}), **values}
        return self.with_tables(raw)

    @classmethod
    def _build(cls, raw: dict[str, Any], text: str, path: Path | None) -> Self:

        raw = {k: v for k, v in raw.items() if k != "$schema"}
        kind = class_of(raw, job_errors.line_of(text, ["method"]))
        try:
            job = kind.model_validate(without_method(raw))
        except ValidationError as error:
            job_errors.raise_from(error, kind, text, raw)
            raise AssertionError("unreachable") from error
        job._steps_in_list = _STEPS.search(text) is not None
        if path is not None:
            job._path = path
            job._base = path.parent
        # the class that the file asks for, which need not be that of the caller
        return cast("Self", job)

    @property
    def path(self) -> Path | None:
        """The job file, None for a job from a dictionary."""
        return self._path

    @property
    def name(self) -> str:
        """Name of the job: its file name without suffix."""
        return self._path.stem if self._path else self._name or "job"

    @property
    def base(self) -> Path:
        """Folder from which relative names count."""
        return self._base

    @property
    def run_place(self) -> Frame | str | None:
        """The frame of the local coordinates in the run directory where the job is resumed; None for a new one."""
        return self._run_place

    def goes_on_at(self, place: Frame | str | None) -> None:
        """Set the frame of the run directory where the job is resumed; data read in another frame are dropped."""
        if place != self._run_place:
            self._run_place = place
            self.forget()

    @property
    def default_run_dir(self) -> Path:
        """`NAME.run` next to the job file."""
        return self._base / f"{self.name}.run"

    def resolve(self, name: str) -> Path:
        """Return the path of a file, or of an object in a store, named in the job."""
        from subsalt.io.objects import as_path, is_url

        path = as_path(name)
        return path if is_url(path) else self._base / path.expanduser()

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the result of `make` at the first call with this key, so that files are read once."""
        if key not in self._memory:
            self._memory[key] = make()
        return self._memory[key]

    def knows(self, key: str) -> bool:
        """Return whether `remember` has something under this key."""
        return key in self._memory

    def forget(self) -> None:
        """Drop what was read, for example after a file has changed."""
        self._memory.clear()

    def with_shots(self, selection: str) -> Self:
        """Return the job with other shots selected; a `ConfigError` where it does not take shots."""
        raise NotImplementedError

    def signal_source(self) -> Any:
        """Return the survey, or the table of traces, whose traces go through the steps of `[[signal]]`."""
        raise NotImplementedError

    # -- the job as text and as a number

    def resolved(self) -> dict[str, Any]:
        """Return the job with every default, as plain values (SI); keys without a value are left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def resolved_toml(self) -> str:
        """Return the job with every default as TOML, each key with its meaning."""
        from subsalt.job.text import resolved_toml

        return resolved_toml(self)

    def input_files(self) -> dict[str, list[Path]]:
        """Return the files the job reads, by the key that names them; patterns expanded and sorted.

        Raises
        ------
        MissingInputError
            When a file is not there or a pattern matches nothing.
        """
        raise NotImplementedError

    @classmethod
    def accept_short_forms(cls, definitions: dict[str, Any]) -> None:
        """Add to the schemas of its tables, by name, what their validators accept beyond a table or a list."""

    def inputs(self) -> list[dict[str, object]]:
        """Return path, size and SHA-256 of every input file, see `subsalt.job.inputs.input_facts`; reads them all."""
        from subsalt.job.inputs import input_facts

        return [input_facts(key, path) for key, paths in self.input_files().items() for path in paths]

    @classmethod
    def upgrade_resolved(cls, resolved: dict[str, Any]) -> dict[str, Any]:
        """Return the resolved job of an older version with the keys that it lacks, as they were then."""
        return resolved

    def former_choices(self, begun: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return, by table, the keys that a run begun by an older version implies and this job leaves open."""
        return {}

    def of_the_image(self) -> dict[str, Any]:
        """Return the resolved job without keys that cannot change a bit of the image."""
        job = {k: v for k, v in self.resolved().items() if k not in WITHOUT_INFLUENCE}
        if isinstance(data := job.get("data"), dict):
            job["data"] = {k: v for k, v in data.items() if k != "index"}
        return job

    def run_id(self, inputs: list[dict[str, object]] | None = None) -> str:
        """Return the hash of job and inputs that determine the image: `of_the_image`, and the bytes of the inputs.

        Parameters
        ----------
        inputs : list of dict, optional
            Result of `inputs`; computed when left out.
        """
        job = self.of_the_image()
        hashes: dict[str, list[object]] = {}
        for item in self.inputs() if inputs is None else inputs:
            hashes.setdefault(str(item["key"]), []).append(item["sha256"])
        # contents count, names and places do not
        for key, values in hashes.items():
            _replace(job, key.split("."), values)
        text = json.dumps(job, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _replace(tree: Any, path: list[str], values: list[object]) -> None:
    """Set the value at a dotted path in nested dictionaries and lists."""
    for part in path[:-1]:
        tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    tree[path[-1]] = values


def _read_text(path: Path) -> str:
    if path.is_dir():
        raise MissingInputError(
            f"{path} is a directory", "give the job file, for example survey.toml", code="E110"
        )
    try:
        data = read_regular(path, MOST_TEXT)
    except FileNotFoundError:
        raise missing_file(path, "`subsalt init JOB.toml --from FILES` writes one") from None
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "check its permissions", code="E111"
        ) from None
    except ValueError as error:
        raise _no_job(path, f"{path} {error}") from None
    try:
        # editors of Windows put a mark before texts
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _no_job(path, f"{path} is not a text: byte {error.start} is no UTF-8") from None


#: what files of these suffixes hold, and the option of `subsalt init` that takes them
_DATA = dict.fromkeys((".sgy", ".segy", ".seg", ".su"), ("traces", "--from")) | dict.fromkeys(
    (".rsf", ".npy", ".npz", ".vti", ".nc"), ("a volume", "--from FILES --vp")
)


def _no_job(path: Path, otherwise: str) -> ConfigError:
    """Return the error of data given in place of a job file, or of a file that is no text (E106)."""
    holds, option = _DATA.get(path.suffix.lower(), ("", ""))
    if not holds:
        return ConfigError(otherwise, "a job file is TOML text", code="E106")
    return ConfigError(
        f"{path} holds {holds}, and is no job file", f"subsalt init job.toml {option} {path}", code="E106"
    )
