"""Lines of source for places in compiled code, by addr2line where a program has debug information."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from subsalt.machine import programs

#: a place as sites.c writes it
PLACE = re.compile(r"(.+)\+0x([0-9a-f]+)$")


def places(sites: Iterable[str], objects: Iterable[str]) -> dict[str, str]:
    """Return the lines of source of those sites for which they are known, such as ``{"prog+0x11db": "file.c:12"}``.

    Parameters
    ----------
    sites : iterable of str
        Places in programs and libraries, as the interposer names them; others are left out.
    objects : iterable of str
        Paths of these programs and libraries.
    """
    tool = shutil.which("addr2line")
    paths = {Path(o).name: o for o in objects}
    wanted: dict[str, dict[str, int]] = {}
    for site in sites:
        if (m := PLACE.match(site)) and m[1] in paths:
            # the address is where the call returns to; the one before lies within it
            wanted.setdefault(m[1], {})[site] = int(m[2], 16) - 1
    lines: dict[str, str] = {}
    if tool is None:
        return lines
    for name, addresses in wanted.items():
        said = programs.answer([tool, "-e", paths[name], *(hex(a) for a in addresses.values())])
        for site, line in zip(addresses, said.splitlines(), strict=False):
            if m := re.match(r"(.+):(\d+)", line):
                lines[site] = f"{Path(m[1]).name}:{m[2]}"
    return lines


def shown(site: str, known: Mapping[str, str], folder: Path) -> str:
    """Return how a table names a site: its line where that is known, files below `folder` without it.

    Parameters
    ----------
    site : str
        As in a profile.
    known : mapping of str to str
        `Profile.places`.
    folder : path
        The working folder.
    """
    if site in known:
        return known[site]
    path, colon, line = site.rpartition(":")
    if colon and line.isdigit():
        file = Path(path)
        return f"{file.relative_to(folder) if file.is_relative_to(folder) else _tail(file)}:{line}"
    return site


def _tail(file: Path) -> str:
    """Return the last two names of a path: the package and the module of an installed file."""
    return "/".join(file.parts[-2:])
