"""Cures in the text of a finding: the keys of the job that they set, and the job with them.

A cure is written for a user, who pastes ``[data.fix] scalar = -100`` into the job file. It is parsed here from the same
text, so that the tried cure is the printed one.
"""

from __future__ import annotations

import copy
import re
import tomllib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from subsalt.job.base import BaseJob

J = TypeVar("J", bound=BaseJob)

_ASSIGN = re.compile(
    r"(?:(?P<open>\[\[?)(?P<section>[a-z_.]+)\]\]?\s+)?(?<![\w.])(?P<key>[a-z_][a-z_0-9.]*)\s*=\s*(?![=<>])"
)
#: a step for a job that has its steps in one list
_STEP = re.compile(r"add to signal = \[\.\.\.\]: (?=\{)")
#: ends the name of a section of which a job has several, such as [[signal]]: a cure adds one
_ANOTHER = "[]"
_AWAY = re.compile(
    r"(?:leave|remove)\s+(?:\[(?P<section>[a-z_.]+)\]\s+(?P<key>[a-z_0-9]+)|(?P<bare>[a-z_0-9]+)(?=\s+out\b))"
)
#: texts between two keys of one cure
_TOGETHER = (",", ";", "and", ", and", "; and", "with")


@dataclass(frozen=True)
class Key:
    """A key of a job file that a cure sets, or removes.

    Parameters
    ----------
    section, key : str
        The table, such as ``data.fix``, or ``signal[]`` for one more of these; and the key in it, which may have dots.
    value : object
        The new value; None removes the key.
    at, end : int
        First and last position in the text of the cure.
    """

    section: str
    key: str
    value: object
    at: int
    end: int


def _value(text: str) -> tuple[object, int] | None:
    """Return the TOML value that a text begins with and its length; None where it begins with none."""
    depth, quoted = 0, False
    for i, char in enumerate(text):
        quoted ^= char == '"'
        depth += (char in "[{") - (char in "]}") if not quoted else 0
        if depth < 0:
            return None
        if i + 1 == len(text) or (not quoted and depth == 0 and text[i + 1] in " ,;:)]}"):
            try:
                return tomllib.loads(f"x = {text[: i + 1]}")["x"], i + 1
            except tomllib.TOMLDecodeError:
                continue
    return None


def keys_in(fix: str) -> list[Key]:
    """Return the keys that the text of a cure sets or removes, those to be removed last."""
    out: list[Key] = []
    section, at = "", 0
    for added in list(_STEP.finditer(fix)):
        start, table = added.start(), _value(fix[added.end() :])
        if table is not None and isinstance(table[0], dict):
            end = added.end() + table[1]
            # the first key has the place of the whole, so that the text between it and the others is empty
            places = [(start, end), *[(end, end)] * (len(table[0]) - 1)]
            out += [Key("signal[]", k, v, *p) for (k, v), p in zip(table[0].items(), places, strict=True)]
            fix = fix[:start] + " " * (end - start) + fix[end:]
    while m := _ASSIGN.search(fix, at):
        if m["section"]:
            section = m["section"] + _ANOTHER * (m["open"] == "[[")
        value = _value(fix[m.end() :])
        at = m.end()
        if value is None or not section:
            continue
        at += value[1]
        out.append(Key(section, m["key"], value[0], m.start(), at))
    out.sort(key=lambda k: k.at)
    for m in _AWAY.finditer(fix):
        before = [k for k in out if k.at < m.start()]
        name = m["key"] or m["bare"]
        named = [k for k in out if k.key == name]
        home = m["section"] or (named[0].section if named else before[-1].section if before else "")
        if home and name not in ("them", "these", "those", "it"):
            out.append(Key(home, name, None, m.start(), m.end()))
    return out


def cures_in(fix: str) -> list[list[Key]]:
    """Return the cures that stand in a text, each with the keys that belong together, in their order.

    After a semicolon a key that names its table begins another cure, since volumes of one model name it once; so does a
    key that was set already.
    """
    groups: list[list[Key]] = []
    for key in keys_in(fix):
        between = fix[groups[-1][-1].end : key.at].strip() if groups else None
        same = bool(groups) and (key.section, key.key) in {(k.section, k.key) for k in groups[-1]}
        names_table = fix[key.at] == "[" or _STEP.match(fix, key.at) is not None
        another = same or (between == ";" and names_table)
        if between in ("", *_TOGETHER) and not another and key.value is not None:
            groups[-1].append(key)
        else:
            groups.append([key])
    return groups


def for_list_of_steps(fix: str) -> str:
    """Return a cure whose steps, ``[[signal]] step = ...``, are written for a job with ``signal = [...]``."""
    steps = [[k for k in group if k.section == "signal[]"] for group in cures_in(fix)]
    for keys in reversed([s for s in steps if s and fix.startswith("[[", s[0].at)]):
        items = ", ".join(fix[k.at : k.end].removeprefix("[[signal]]").strip() for k in keys)
        fix = f"{fix[: keys[0].at]}add to signal = [...]: {{ {items} }}{fix[keys[-1].end :]}"
    return fix


def put(tables: dict[str, Any], cure: list[Key]) -> None:
    """Set the keys of a cure in the tables of a job, in place; an inline table is added to the one that is there."""
    added: dict[str, dict[str, Any]] = {}
    for k in cure:
        if k.section.endswith(_ANOTHER):
            if k.section not in added:
                added[k.section] = {}
                tables.setdefault(k.section.removesuffix(_ANOTHER), []).append(added[k.section])
            added[k.section][k.key] = copy.deepcopy(k.value)
            continue
        table = tables
        for part in [*k.section.split("."), *k.key.split(".")[:-1]]:
            here = table.get(part)
            if not isinstance(here, dict):
                # a volume may be given by the name of its file alone
                table[part] = {} if here is None else {"file": here}
            table = table[part]
        last = k.key.rpartition(".")[2]
        if k.value is None:
            table.pop(last, None)
        # a volume with its file is given whole: keys that are not there are meant to go
        elif isinstance(k.value, dict) and "file" not in k.value and isinstance(table.get(last), dict):
            table[last] = {**table[last], **k.value}
        else:
            table[last] = copy.deepcopy(k.value)


def cured(job: J, cure: list[Key]) -> J:
    """Return a job with the keys of a cure.

    Raises
    ------
    FindingsError
        When the job is none with them.
    """
    tables = job.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    put(tables, cure)
    other = job.with_tables(tables)
    if job.knows("parameters") and all(k.section.split(".")[0] != "model" for k in cure):
        # the volumes of the model are the same, and have been read and judged; what else is made of them is the other's
        other.remember("parameters", lambda: job.remember("parameters", dict))
        other.remember("models", lambda: dict(job.remember("models", dict)))
    if job.knows("scan") and all(k.section.split(".")[0] != "data" for k in cure):
        other.remember("scan", lambda: job.remember("scan", dict))
    return other


def clauses(fix: str) -> list[tuple[int, int]]:
    """Return where the clauses of a cure begin and end: they are parted by semicolons, but not those within a cure."""
    whole = [(group[0].at, group[-1].end) for group in cures_in(fix)]
    ends = [m.start() for m in re.finditer(r"; ", fix) if not any(a <= m.start() < b for a, b in whole)]
    return list(zip([0, *(e + 2 for e in ends)], [*ends, len(fix)], strict=True))


def without(fix: str, dropped: list[list[Key]]) -> str:
    """Return the text of a cure without some of the cures in it.

    A clause goes with the last of its cures; of a clause that holds others the part up to the next ``or`` goes.
    """
    gone = {(group[0].at, group[-1].end) for group in dropped}
    fix, gone = _with_tables(fix, gone)
    every = [(group[0].at, group[-1].end) for group in cures_in(fix)]
    parts = []
    for begin, end in clauses(fix):
        own = [span for span in every if begin <= span[0] < end]
        if not gone & set(own):
            parts.append(fix[begin:end])
        elif set(own) - gone:
            parts.append(_part(fix, begin, end, own, gone))
    text = "; ".join(parts)
    return re.sub(r"^(?:or|else|or else|and),? (?:,\s*)?", "", text)


def _with_tables(fix: str, gone: set[tuple[int, int]]) -> tuple[str, set[tuple[int, int]]]:
    """Return a text in which each cure names its table, which the one before may have named, and the same places."""
    moved: set[tuple[int, int]] = set()
    more = 0
    for group in cures_in(fix):
        begin, end = group[0].at + more, group[-1].end + more
        named = fix[begin] == "[" or _STEP.match(fix, begin) is not None
        table = "" if named or group[0].value is None else f"[{group[0].section}] "
        fix = fix[:begin] + table + fix[begin:]
        more += len(table)
        if (group[0].at, group[-1].end) in gone:
            moved.add((begin, end + len(table)))
    return fix, moved


def _part(fix: str, begin: int, end: int, own: list[tuple[int, int]], gone: set[tuple[int, int]]) -> str:
    """Return a clause with its cures that are not `gone`, and the words around them."""
    edges = [begin, *(b for _, b in own[:-1]), end]
    parts = [fix[a:b] for (a, b), span in zip(pairwise(edges), own, strict=True) if span not in gone]
    parts[0] = re.sub(r"^,? ?(?:or|else) ", "", parts[0])
    return "".join(parts)
