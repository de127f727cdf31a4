"""What `subsalt lab storage` does: read the options, measure, print, and add to machine.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from subsalt.cli.output import Out
from subsalt.machine import machine_file as machine
from subsalt.machine.records import refuse
from subsalt_lab import asked, storage_founding
from subsalt_lab import storage as measurement
from subsalt_lab.cli import storage as lab_advice
from subsalt_lab.cli.commands import finish, prepared, progress, results_lost_on_stop, show
from subsalt_lab.storage_settings import ENGINES, STREAMS
from subsalt_lab.transfers import PAGE

#: seconds of which a first and a last third can be told
LEAST_SUSTAINED = 3
#: bytes of `--quick`
QUICK = 256_000_000


def settings(
    directories: list[Path] | None,
    size: str,
    record: str,
    threads: list[str] | None,
    direct: bool | None,
    repeats: int,
    quick: bool,
    names: list[str] | None = None,
    engine: str = "auto",
    streams: list[str] | None = None,
    sustained: float = 0.0,
) -> measurement.Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    if 0 < sustained < LEAST_SUSTAINED:
        raise asked.wrong(
            f"--sustained {sustained:g}: too short for a burst and what follows it",
            f"use {LEAST_SUSTAINED} or more, 180 for figures",
        )
    each = asked.size("--record", record, PAGE)
    nbytes = asked.size("--size", size, PAGE)
    places = list(dict.fromkeys(directories or [Path(".")]))
    return measurement.Settings(
        places,
        min(nbytes, QUICK) if quick else nbytes,
        io_threads(threads, quick),
        min(each, nbytes) // 4 * 4,
        direct,
        quick,
        1 if quick else repeats,
        names=names_of(names, places),
        engine=asked.choices("--engine", [engine], ENGINES, ())[0],
        streams=_streams(streams),
        sustained=sustained,
    )


def _streams(given: list[str] | None) -> Sequence[int]:
    """Return how many threads write one file; none for 0."""
    if given is None:
        return STREAMS
    found = asked.words(given)
    if found == ["0"]:
        return ()
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= 256]
    if bad or not found:
        raise asked.wrong(
            f"--streams {' '.join(bad)}: not numbers of threads from 1 to 256",
            "use such as --streams 1,4,16, or 0",
        )
    return sorted({int(w) for w in found})


def names_of(given: list[str] | None, directories: Sequence[Path]) -> list[str]:
    """Return what directories are called, one name each; none when not given."""
    found = [] if given is None else asked.words(given)
    if given is not None and len(found) != len(directories):
        raise asked.wrong(
            f"--names {' '.join(found)}: {len(found)} names for {len(directories)} directories",
            "give a name to each, such as --names disk,memory",
        )
    return found


def io_threads(given: list[str] | None, quick: bool = False) -> list[int]:
    """Return numbers of threads that move data: they wait more than they compute, and may be more than cores."""
    if given is None:
        return [4] if quick else [1, 4]
    found = asked.words(given)
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= 256]
    if bad or not found:
        raise asked.wrong(
            f"--threads {' '.join(bad)}: not numbers of threads from 1 to 256", "use such as --threads 1,4"
        )
    return sorted({int(w) for w in found})


def storage(wanted: measurement.Settings, founding: bool, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, print the tables, and add the rows to machine.json."""
    path = prepared(file, how)
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(wanted, say=progress)
    found = list(lab_advice.tables(result.rows, how))
    if founding and how != "csv":
        found += storage_founding.tables(result.rows, how)
    show(out, result, found, how)
    finish(out, result, path, "storage", measurement.for_machine(result, wanted))


def unadvised(ranks: int, known: bool) -> None:
    """Refuse options of `--advise` without it."""
    for option, there in {"--ranks": ranks != 1, "--known": known}.items():
        if there:
            raise asked.wrong(f"{option} belongs to --advise", "name a job with --advise, or leave it out")


def advise(
    wanted: measurement.Settings,
    job_file: Path,
    ranks: int,
    known: bool,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure puts and gets unless they are known, and rank the directories for the checkpoints of a job."""
    path = prepared(file, how)
    job = lab_advice.job_of(job_file)
    out = Out(as_json)
    found: list[str] = []
    result = None
    if known:
        for place in wanted.directories:
            refuse(place, 0, "")
    else:
        wanted = replace(wanted, quick=True)
        with results_lost_on_stop():
            result = measurement.measure(wanted, say=progress)
        machine.save(path, "storage", measurement.for_machine(result, wanted))
        found += [] if how == "csv" else lab_advice.tables(result.rows, how)
    advice = lab_advice.advice_of(job, wanted.directories, ranks, path)
    found += lab_advice.lines(advice, how)
    if result is not None:
        show(out, result, found, how)
        out.json(result.to_dict() | {"advice": advice.to_dict(), "machine_file": str(path)})
        return
    for i, text in enumerate(found):
        if i and how != "csv":
            out.say()
        out.say(text)
    out.json({"advice": advice.to_dict(), "machine_file": str(path)})
