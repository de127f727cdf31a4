"""The outermost frame of the command: exit codes, signals, and errors without tracebacks."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import typer

from subsalt import host
from subsalt.cli import old_spellings, ranks
from subsalt.cli.app_root import OTHER_PACKAGES
from subsalt.errors import MemoryPlanError, ResourceError, SubsaltError, processor_too_old

#: exit codes of the command and their meaning; errors of the package carry theirs
EXIT_CODES = {
    0: "done",
    2: "wrong use of the command line",
    65: "input data are wrong",
    66: "an input file is missing",
    69: "memory, device or instruction set not available",
    70: "internal error: please report it",
    73: "an output cannot be created",
    74: "reading or writing failed, or the disk is full",
    75: "stopped (subsalt stop, --time-limit, SIGTERM, SIGUSR1); the same command resumes it",
    78: "the job file is wrong",
    130: "interrupted (Ctrl-C); the same command resumes it",
    141: "the reader of the output went away",
    143: "terminated (SIGTERM), in a command that cannot be resumed",
}

# typer brings its own copy of click in some versions: take the classes from what it exports
_USAGE: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")
#: what a group of commands without a word behind it raises, in the versions in which it raises something
_ONLY_HELP: type[Exception] | tuple[()] = getattr(sys.modules[_USAGE.__module__], "NoArgsIsHelpError", ())
_CLICK: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


#: signals that end a command cleanly, and their exit codes. A batch system sends SIGUSR1 when the time that it gave is
#: nearly over, and starts the job again on 75
STOPPING = {signal.SIGTERM: 143, signal.SIGUSR1: 75}
#: commands that go on when they are started again: they end with 75 on SIGTERM too
GO_ON = ("migrate", "vscan", "model", "resume", "unit")


class Terminated(BaseException):
    """A signal of `STOPPING` arrived; passes through every handler of ordinary errors."""

    def __init__(self, number: int = signal.SIGTERM, exit_code: int | None = None) -> None:
        super().__init__(number)
        self.number = int(number)
        self.exit_code = STOPPING[signal.Signals(number)] if exit_code is None else exit_code


#: signals that arrived, by number: the exceptions that they were raised as
_ARRIVED: dict[int, Terminated] = {}


def command_of(argv: list[str]) -> str:
    """Return the command among arguments, empty when there is none."""
    return next((a for a in argv if not a.startswith("-")), "")


def run(app: typer.Typer, argv: list[str]) -> int:
    """Run the application and return its exit code.

    Parameters
    ----------
    app : typer.Typer
        The commands.
    argv : list of str
        Arguments without the program's name; ``--debug`` anywhere among them shows tracebacks.
    """
    from subsalt.cli.output import Out

    ends = argv.index("--") if "--" in argv else len(argv)
    debug = "--debug" in argv[:ends] or bool(os.environ.get("SUBSALT_DEBUG"))
    argv = [a for i, a in enumerate(argv) if a != "--debug" or i > ends]
    out = Out("--json" in argv[:ends], quiet=not {"-q", "--quiet"}.isdisjoint(argv[:ends]))
    for stream in (sys.stdout, sys.stderr):
        # names of files may hold letters that the terminal's encoding lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with contextlib.suppress(ValueError):  # not in the main thread: the caller keeps its signals
        codes = STOPPING | dict.fromkeys(STOPPING, 75) if command_of(argv) in GO_ON else STOPPING

        def stop(number: int, frame: object) -> None:
            # all ranks end with the code that the first one was stopped with
            _ARRIVED[number] = Terminated(number, codes[signal.Signals(number)])
            raise _ARRIVED[number]

        for number in STOPPING:
            signal.signal(number, stop)
    before, sys.unraisablehook = sys.unraisablehook, _again(sys.unraisablehook)
    try:
        return 0 if ranks.leaves(argv) else _guarded(app, argv, out, debug)
    finally:
        sys.unraisablehook = before
        _close_stdout()


def _again(otherwise: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a hook that sends a stopping signal again which arrived while an object was destroyed.

    There Python drops every exception, and a stop with it.
    """

    def hook(lost: Any) -> None:
        if not isinstance(lost.exc_value, Terminated):
            otherwise(lost)
            return
        # a moment later, from outside of what is being destroyed
        timer = threading.Timer(0.02, os.kill, (os.getpid(), lost.exc_value.number))
        timer.daemon = True
        timer.start()

    return hook


def named_command_only(app: typer.Typer, argv: list[str]) -> typer.Typer:
    """Return the application with only the command that is called: building the options of all takes 0.1 s."""
    name = argv[0] if argv else ""
    commands = [c for c in app.registered_commands if _name(c) == name]
    groups = [g for g in app.registered_groups if g.typer_instance and g.typer_instance.info.name == name]
    # help, completion, or a mistake that is answered with the nearest name
    if not commands and not groups and name not in OTHER_PACKAGES:
        return app
    one = copy.copy(app)
    one.registered_commands, one.registered_groups = commands, groups
    return one


def _name(command: Any) -> str:
    return command.name or command.callback.__name__.replace("_", "-")


def _guarded(app: typer.Typer, argv: list[str], out: Any, debug: bool) -> int:
    try:
        if missing := host.missing_instructions():
            raise processor_too_old(missing)
        argv = old_spellings.renewed(argv, out.mute)
        command = typer.main.get_command(named_command_only(app, argv))
        result = command.main(args=argv, prog_name="subsalt", standalone_mode=False)
        sys.stdout.flush()
        if result == 130:  # how typer returns a KeyboardInterrupt in some versions
            return _stopped(KeyboardInterrupt(), out, 130, "interrupted", command_of(argv))
        return result if isinstance(result, int) else 0
    except SubsaltError as error:
        if debug and ranks.shows(error):
            traceback.print_exc()
        return ranks.end(error, error, out)
    except typer.Exit as leave:
        return int(leave.exit_code)
    except (typer.Abort, KeyboardInterrupt) as stop:
        return _stopped(stop, out, 130, "interrupted", command_of(argv))
    except Terminated as stop:
        return _ended(stop, out, argv)
    except BrokenPipeError:
        return ranks.leave(141)
    except SystemExit as leave:
        # how click leaves when the reader went away: with 1, in the handler of the error
        if isinstance(leave.__context__, BrokenPipeError):
            return ranks.leave(141)
        raise
    except Exception as error:
        # compiled code that calls Python may tell of a stop as an error of its own
        hidden = next(
            (e for e in _chain(error) if isinstance(e, Terminated | KeyboardInterrupt)),
            _termination_of(error),
        )
        return _other(error, out, debug) if hidden is None else _ended(hidden, out, argv)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def _termination_of(error: Exception) -> Terminated | None:
    """Return the stop that an error holds as text alone, as those of pydantic's schemas do."""
    match = re.search(r"\bTerminated: (\d+)\s*$", str(error))
    return None if match is None else _ARRIVED.get(int(match[1]))


def _ended(stop: BaseException, out: Any, argv: list[str]) -> int:
    """Say that the command was stopped; return its exit code."""
    if not isinstance(stop, Terminated):
        return _stopped(stop, out, 130, "interrupted", command_of(argv))
    return _stopped(
        stop, out, stop.exit_code, "stopped" if stop.exit_code == 75 else "terminated", command_of(argv)
    )


def _stopped(stop: BaseException, out: Any, code: int, word: str, command: str) -> int:
    if command in (*GO_ON, "demo"):
        what, fix = "what was finished is kept", "the same command resumes from there"
    else:
        what, fix = "no file is left half-written", "start the command again"
    error = SubsaltError(f"{word}; {what}", fix, code="E801")
    error.exit_code = code
    return ranks.end(stop, error, out)


def _other(error: Exception, out: Any, debug: bool) -> int:
    """Say an error that no part of the package raised on purpose."""
    if isinstance(error, _ONLY_HELP):
        print(str(error).rstrip(), flush=True)  # bare `subsalt` or `subsalt lab`: help, and no error
        return 0
    if isinstance(error, _CLICK):
        usage = isinstance(error, _USAGE)
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        message = " ".join(message.replace("Value error, ", "").split())  # one line, in the words of the rule
        context = getattr(error, "ctx", None)
        name = context.command_path if context is not None else "subsalt"
        known: SubsaltError = _usage_error(message, f"see {name} --help")
        known.exit_code = 2 if usage else int(getattr(error, "exit_code", 2))
        return ranks.end(error, known, out)
    if debug and ranks.shows(error):
        traceback.print_exc()
    if isinstance(error, MemoryError):
        known = MemoryPlanError(
            f"out of memory: {error}", "use a coarser grid or a smaller aperture", code="E612"
        )
    elif isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        known = ResourceError(
            f"{name}{error.strerror or error}", "check path, permissions and space", code="E600"
        )
    else:
        known = SubsaltError(
            f"internal error: {type(error).__name__}: {error}",
            f"please report it with {_bug_report(error) if ranks.shows(error) else 'the text that rank 0 gives'}",
            code="E001",
        )
    return ranks.end(error, known, out)


def _usage_error(message: str, fix: str) -> SubsaltError:
    error = SubsaltError(message.rstrip("."), fix, code="E002")
    error.exit_code = 2
    return error


def _bug_report(error: Exception) -> str:
    """Write the traceback to a new file in the temporary folder, for this user alone; return how to refer to it.

    Other users share the folder: the file has a name that nobody can guess, is made again (O_EXCL, O_NOFOLLOW), and
    holds no password, key or token of the command line or of an address.
    """
    import platform
    import tempfile

    from subsalt import __version__
    from subsalt.cli.secrets import without_secrets, words_without_secrets

    lines = "".join(traceback.format_exception(error))
    system = f"Python {platform.python_version()} {platform.platform()}"
    head = f"subsalt {__version__}\n{system}\ncommand {words_without_secrets(sys.argv[1:])}\n\n"
    try:
        from subsalt.io.publish import private_text

        return str(private_text(tempfile.gettempdir(), "subsalt-bug", head + without_secrets(lines)))
    except Exception:
        return "the output of the same command with --debug"


def _close_stdout() -> None:
    """Flush standard output; when its reader has gone, keep the interpreter from complaining at exit."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
