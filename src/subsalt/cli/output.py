"""Output of the commands: findings, errors with their cure, tables, and one JSON object last on standard
output.

Options of a command declared once: the fields of a dataclass, which the command takes as one parameter.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_type_hints

from subsalt.errors import ConfigError, Finding, FindingsError, SubsaltError
from subsalt.parallel.comm import speaks

if TYPE_CHECKING:
    from subsalt.run.progress import Progress

_COLOUR = {"error": "1;31", "warning": "33", "unchecked": "33", "ok": "32", "fix": "36"}
#: what is printed for a level where it is not its name
_WORDS = {"unchecked": "not checked:"}
#: letters of a value of the evidence that --verbose prints
LONGEST_VALUE = 100


def printable(text: str) -> str:
    """Return a text whose control characters and bidirectional marks cannot disturb a terminal."""
    return "".join(
        c if c == "\n" or (c.isprintable() and not _is_bidi(c)) else f"\\x{ord(c):02x}" for c in text
    )


def _is_bidi(char: str) -> bool:
    return "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069"


def paint(text: str, role: str, stream: TextIO) -> str:
    """Return the text in the colour of its role, plain without a terminal or with NO_COLOR."""
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return f"\x1b[{_COLOUR[role]}m{text}\x1b[0m"


class Out:
    """Where a command prints.

    With `as_json` all text for people goes to standard error, and standard output holds one JSON object.

    Parameters
    ----------
    as_json : bool
        Print one JSON object.
    quiet : bool
        Print results and errors only: no warnings, notes or progress.
    verbose : bool
        Print every finding, its cure in full and its evidence; includes `profile`.
    profile : bool
        Print the time of every phase.
    """

    def __init__(
        self, as_json: bool = False, *, quiet: bool = False, verbose: bool = False, profile: bool = False
    ) -> None:
        if quiet and verbose:
            raise usage("--quiet and --verbose exclude each other", "leave one of them out")
        self.as_json, self.quiet, self.verbose = as_json, quiet, verbose
        self.profile = profile or verbose
        #: under mpiexec one rank speaks for all; only an error that ends the others is said by any
        self.mute = not speaks()

    @property
    def stream(self) -> TextIO:
        """Where text for people goes."""
        return sys.stderr if self.as_json else sys.stdout

    def say(self, text: str = "") -> None:
        """Print a result for people."""
        if self.mute:
            return
        print(printable(text), file=self.stream, flush=True)

    def note(self, text: str = "") -> None:
        """Print text that is not a result; nothing when `quiet`."""
        if not self.quiet:
            self.say(text)

    @contextmanager
    def progress(self, label: str, units: str = "shots") -> Iterator[Progress]:
        """Show how far a computation is: not when `quiet`."""
        from subsalt.run import progress

        if self.quiet:
            yield progress.silent
            return
        with progress.for_stream(label, units=units) as bar:
            yield bar

    def row(self, label: str, text: str) -> None:
        """Print a labelled line."""
        self.say(f"{label:<9} {text}")

    def findings(self, findings: Iterable[Finding], stream: TextIO | None = None) -> None:
        """Print findings: ok, warnings, errors; each with its cure below. When `quiet` only errors."""
        if not self.mute:
            wanted = [f for f in findings if f.level == "error" or not self.quiet]
            self._print(wanted, stream or self.stream)

    def _print(self, findings: Iterable[Finding], stream: TextIO) -> None:
        order = {"ok": 0, "unchecked": 1, "warning": 2, "error": 3}
        for f in sorted(findings, key=lambda f: order[f.level]):
            word = paint(f"{_WORDS.get(f.level, f.level):<7}", f.level, stream)
            code = f"{f.code}  " if f.is_fault else ""
            print(f"{word} {code}{printable(f.message)}", file=stream)
            if f.fix:
                fix = (f.fix if self.verbose else f.short_fix).replace("\n", f"\n{'':<12} ")
                print(f"{'':<7} {paint('fix:', 'fix', stream)} {printable(fix)}", file=stream)
            for name, value in plain(f.evidence).items() if self.verbose else ():
                print(f"{'':<7} {printable(f'{name}: {short_value(value)}')}", file=stream)
        stream.flush()

    def hint(self, findings: Iterable[Finding], stream: TextIO | None = None) -> None:
        """Print how to read more about the codes of findings: once, at their end; nothing when `quiet`."""
        codes = [f.code for f in sorted(findings, key=lambda f: f.level != "error") if f.is_fault]
        if codes and not (self.mute or self.quiet):
            print(f"more about a code: subsalt explain {codes[0]}", file=stream or self.stream, flush=True)

    def error(self, error: SubsaltError) -> None:
        """Print an error to standard error: what, then how to fix it; as JSON on standard output when asked
        for.
        """
        if isinstance(error, FindingsError):
            stops = any(f.level == "error" for f in error.findings)
            shown = [f for f in error.findings if f.is_fault or (f.level != "ok" and not stops)]
            self._print(shown, sys.stderr)
            self.hint(shown, sys.stderr)
        else:
            word = paint("error", "error", sys.stderr)
            print(f"{word} {error.code}  {printable(error.message)}", file=sys.stderr)
            if error.fix:
                print(f"{'':<5} {paint('fix:', 'fix', sys.stderr)} {printable(error.fix)}", file=sys.stderr)
        if self.as_json:
            print(json.dumps(plain({"error": error_dict(error)}), allow_nan=False), flush=True)

    def json(self, result: Any) -> None:
        """Print the one JSON object, on one line, when `as_json`."""
        if self.as_json and not self.mute:
            print(json.dumps(plain(result), allow_nan=False), flush=True)


def short_value(value: Any) -> str:
    """Return a plain value as one line of at most `LONGEST_VALUE` letters."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def error_dict(error: SubsaltError) -> dict[str, object]:
    """Return an error for `--json`."""
    out: dict[str, object] = {
        "code": error.code,
        "message": error.message,
        "fix": error.fix,
        "exit": error.exit_code,
    }
    if isinstance(error, FindingsError):
        out["findings"] = [finding_dict(f) for f in error.findings]
    return out


def finding_dict(finding: Finding) -> dict[str, object]:
    """Return a finding for `--json`."""
    return {
        "code": finding.code,
        "level": finding.level,
        "message": finding.message,
        "fix": finding.fix,
        "evidence": plain(finding.evidence),
    }


def plain(value: Any) -> Any:
    """Return a value of dictionaries, lists, texts and finite numbers; NaN and Inf become None."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(v) for v in value]
    return str(value)


def phase_table(phases: Mapping[str, float]) -> list[str]:
    """Return lines of a phase table: seconds and share, slowest first, then unexplained and wall."""
    wall = phases.get("wall", sum(phases.values()))
    rows = sorted(
        ((k, v) for k, v in phases.items() if k not in ("wall", "unexplained")), key=lambda r: -r[1]
    )
    rows += [(k, phases[k]) for k in ("unexplained", "wall") if k in phases]
    return [
        f"  {name:<18} {seconds:9.2f} s {100 * seconds / wall if wall else 0:6.1f} %"
        for name, seconds in rows
    ]


def usage(message: str, fix: str) -> ConfigError:
    """Return the error of an option whose value makes no sense: exit code 2, as for an unknown option."""
    error = ConfigError(message, fix, code="E843")
    error.exit_code = 2
    return error


Command = Callable[..., None]


def spread(command: Command) -> Command:
    """Return a command as typer is to call it: each parameter that is a dataclass becomes the options of its fields.

    A field is written as a parameter of a command is: ``name: Annotated[type, typer.Option(help=...)] = default``.

    Parameters
    ----------
    command : callable
        Annotated with types that its module knows at run time.
    """
    hints = get_type_hints(command, include_extras=True)
    made: dict[str, Any] = {}
    flat: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if is_dataclass(hints[name]):
            made[name] = hints[name]
            flat += _parameters(hints[name])
        else:
            flat.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**given: Any) -> None:
        taken = {
            name: options(**{f.name: given.pop(f.name) for f in fields(options)})
            for name, options in made.items()
        }
        command(**given, **taken)

    call.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in flat}
    return call


def _parameters(options: Any) -> list[Parameter]:
    """Return the fields of a dataclass as parameters of a command."""
    hints = get_type_hints(options, include_extras=True)
    return [
        Parameter(
            f.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if f.default is MISSING else f.default,
            annotation=hints[f.name],
        )
        for f in fields(options)
    ]
