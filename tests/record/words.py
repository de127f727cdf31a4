"""What programs read of the commands: their options, the keys of their JSON, and exit codes."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from jobs import Jobs

from subsalt.cli.app_root import app

#: calls `subsalt` with some words: exit code, standard output, standard error
Call = Callable[..., tuple[int, str, str]]


def options() -> dict[str, dict[str, str]]:
    """Return the options and arguments of all commands, with their defaults."""
    by_command: dict[str, dict[str, str]] = {}

    def walk(command: Any, name: str) -> None:
        for word in sorted(command.list_commands(None) if hasattr(command, "commands") else ()):
            walk(command.get_command(None, word), f"{name} {word}".strip())
        if not hasattr(command, "commands"):
            by_command[name] = {"|".join(p.opts): str(p.default) for p in command.params}

    walk(typer.main.get_command(app), "")
    return by_command


def keys_of(value: Any, path: str = "") -> set[str]:
    """Return the paths of all keys of a JSON value, with the kinds of the values; items of lists are alike."""
    if isinstance(value, dict):
        return {k for name, below in value.items() for k in keys_of(below, f"{path}.{name}".lstrip("."))}
    if isinstance(value, list):
        return {k for item in value for k in keys_of(item, f"{path}[]")} or {f"{path}[]"}
    return {f"{path}: {kind(value)}"}


def kind(value: Any) -> str:
    """Return the kind of a JSON value; whole numbers and others are one kind."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return "number" if isinstance(value, int | float) else "text"


def copy_samples(of: Path, into: Path) -> None:
    """Write the samples of a SEG-Y file below the trace headers of another of the same layout."""
    given, there = of.read_bytes(), bytearray(into.read_bytes())
    (count,) = struct.unpack_from(">H", given, 3220)
    size = 4 * count
    for at in range(3600 + 240, len(there), 240 + size):
        there[at : at + size] = given[at : at + size]
    into.write_bytes(there)


def json_keys(call: Call, jobs: Jobs) -> dict[str, list[str]]:
    """Return the keys of what the commands print with ``--json``, by command."""
    job = jobs.job("vti 2-D")
    # all that a check says, first arrivals included
    job.write_text(job.read_text().replace('first_breaks = "ignore"\n', ""))
    folder, run = job.parent, job.with_suffix(".words")
    drawn = 'pictures = true\nformats = ["rsf"]'
    job.write_text(job.read_text().replace("pictures = false", drawn))
    shots = sorted((folder / "shots").glob("*.sgy"))
    # what is found, with a cure: the samples of a shot under the headers of another
    odd = [Path(shutil.copy(shot, folder / f"odd_{shot.name}")) for shot in shots]
    copy_samples(odd[0], odd[-1])
    copied = job.with_name("odd.toml")
    copied.write_text(job.read_text().replace("shots/", "odd_"))
    said = {
        "model": ("model", folder / "model.toml", "-o", folder / "again"),
        "check": ("check", job),
        "check of a copied shot": ("check", copied),
        "plan": ("plan", job),
        "migrate": ("migrate", job, "--run", run),
        "resume": ("resume", run),
        "watch": ("watch", run, "--once"),
        "stop": ("stop", run),
        "view": ("view", run, "-o", folder / "view.png"),
        "report": ("report", run),
        "scan": ("scan", *odd),
        "scan --first-breaks": ("scan", *odd, "--first-breaks", "-o", folder / "breaks.png"),
        "export": ("export", run / "image.rsf", folder / "image.npy"),
        "init": ("init", folder / "made.toml", "--from", shots[0], "--vp", "2000", "--f0", "15"),
        "explain": ("explain", "E412"),
        "doctor": ("doctor",),
    }
    by_command = {}
    for name, words in said.items():
        code, out, err = call(*words, "--json")
        assert out, (name, code, err)
        value = json.loads(out.splitlines()[-1])
        # below the first level doctor tells of hosts and cards
        by_command[name] = sorted(value) if name == "doctor" else sorted(keys_of(value))
    return by_command


def exit_codes(call: Call, folder: Path) -> dict[str, list[Any]]:
    """Return exit code and first code of an error for wrong uses of all kinds."""
    jobs = Jobs(folder)
    good = jobs.job("iso 2-D")
    text = good.read_text()

    def job(name: str, old: str, new: str) -> Path:
        assert old in text, old
        path = good.with_name(f"{name}.toml")
        path.write_text(text.replace(old, new))
        return path

    (folder / "no.sgy").write_bytes(b"nothing")
    (folder / "text.toml").write_text("vp = = 3")
    wrong = {
        "no such job": ("check", folder / "none.toml"),
        "no TOML": ("check", folder / "text.toml"),
        "no such command": ("migratee", good),
        "no such option": ("check", good, "--fast"),
        "no such method": ("check", job("method", "[data]", 'method = "born"\n[data]')),
        "unknown key": ("check", job("key", "f0 = 15", "f00 = 15")),
        "missing key": ("check", job("missing", "f0 = 15", "")),
        "no traces": ("check", job("traces", "shots/*.sgy", "nothing/*.sgy")),
        "a key that is none": ("explain", "data.filez"),
        "a code that is none": ("explain", "E999999"),
        "velocity in km/s": ("check", job("km", "vp = 2000", "vp = 2.0")),
        "dt above the bound": ("check", job("dt", "layer = 6", 'layer = 6\ndt = "20 ms"')),
        "shots outside": ("check", job("shape", "[61, 41]", "[21, 41]")),
        "no volume": ("check", job("volume", "vp = 2000", 'vp = "none.rsf"')),
        "odd order": ("check", job("order", "layer = 6", "layer = 6\norder = 7")),
        "no run": ("report", folder / "none.run"),
        "resume nothing": ("resume", folder / "none.run"),
        "view nothing": ("view", folder / "none.sgy"),
        "stop nothing": ("stop", folder / "none.run"),
        "no traces to scan": ("scan", folder / "none.sgy"),
        "no SEG-Y": ("scan", folder / "no.sgy"),
        "no memory": ("plan", good, "--memory-per-rank", "1MB"),
        "no ranks": ("plan", good, "--ranks", "0"),
        "an image that is empty": (
            "migrate",
            job("mute", "layer = 6", "layer = 6\n[imaging]\ntop_mute = 900"),
        ),
        "a method that is none to begin with": ("init", folder / "a.toml", "--method", "born"),
    }
    by_command = {}
    for name, words in wrong.items():
        code, out, err = call(*words)
        said = [
            w for line in (out + err).splitlines() for w in line.split() if w[:1] == "E" and w[1:].isdigit()
        ]
        by_command[name] = [int(code or 0), said[0] if said else ""]
    return by_command
