"""How simple is subsalt to hold in one head? What the physics reaches, files of two ideas, circles, long functions.

    python benchmarks/house.py [--json] [--hold] [ROOT]

Everything is read from the source by `ast`; nothing is imported. The lab is counted by itself. ``--hold`` ends with 1
when a figure of `HELD` is over its limit: `make lint` calls it so. `benchmarks/house_walk.py` records which files one
migration goes through.

What the figures mean:

reach
    Modules, and their lines, that one module reaches by imports that run, also those inside functions, itself
    included. Imports for type checkers alone don't count, nor does the ``__init__`` of a folder unless it is imported
    by name.
two ideas
    A file that holds two or more parts of 50 lines or more that don't name each other (`house_source.parts`).
radius
    Files, tests and documents aside, that name one example of what may be added (`CHANGES`): those that another of
    its kind touches at most, and the new file.
circle
    A strongly connected component of the imports (Tarjan 1972), those inside functions included; once with the imports
    for type checkers, once without.
function
    Its lines from ``def`` to its end, without the docstring; its parameters without ``self`` and ``cls``.
namesakes
    Public classes of one name in several files.
device
    A line that compares something with the name of a device. What the lines of `kernels` compare is not counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from house_source import Module, circles, parts, reach, read, room

#: how the names of the modules of the lab begin
LAB = ("subsalt.lab.", "subsalt_lab.")
DEVICES = {"cpu", "cuda", "reference", "gpu"}
#: words that are to leave the names of modules, classes, functions and variables
WORDS = (
    "deal",
    "dealer",
    "player",
    "told",
    "asked",
    "going_on",
    "look_back",
    "ways",
    "kept",
    "feed",
    "found",
)
#: modules whose reach is measured
STARTS = ("methods.rtm.engine", "methods.rtm.operators", "api")
#: what may be added, by an example that is there: the words that name it, and files that don't count
CHANGES = {
    "an imaging condition": (r"inverse.scattering|InverseScattering", ""),
    "a medium": (r"vti|Vti|VTI|is_vti", r"io/|view/|cli/"),
    "a file format of volumes": (r"\.?netcdf|open_netcdf|NetCDF|\.nc", ""),
    "a key of the job file": (r"top_mute", ""),
    "a method of imaging": (
        r"kirchhoff|(subsalt\.)?methods\.kirchhoff(\..*)?",
        r"methods/kirchhoff/|kernels/|native/",
    ),
}
#: where the words of `CHANGES` are looked for
SOURCES = ("src/subsalt", "native")
#: figures that may not exceed these numbers
HELD = {
    # one of them is the depth axis, a new idea of the grid, one the extremes of a model by compiled code, one the rows
    # of gathers that ranks of a shot send each other, and two are a second wavefield of the receivers and the classes
    # of offset that it makes
    "reach methods.rtm.engine": [86, 20_000],
    "reach methods.rtm.operators": [56, 14_000],
    # 1750 lines above the aim: gathers are part of what a migration makes, with dips, a range of angles and offsets; so
    # are weights that carry its model, its extremes, the memory of an image, and fields separated by direction; and its
    # sweeps meet what a source wavefield scatters, by pairs of fields in anisotropic media, on ranks that share a shot;
    # and rows and steps of its passes follow the caches of a core
    "reach api": [122, 27_050],
    "two_ideas": 8,
    "over_600": 0,
    "largest_circle": 2,
    "circles_across": 0,
    "device_lines": 0,
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(modules: Iterable[Module]) -> list[tuple[str, int, int]]:
    """Return (name, lines without docstring, parameters without self and cls) of every function."""
    out = []
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                out.append((f"{module.name}:{node.lineno} {node.name}", _length(node), _parameters(node)))
    return out


def _length(node: Function) -> int:
    first = node.body[0]
    documented = ast.get_docstring(node, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def _parameters(node: Function) -> int:
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def device_lines(modules: Iterable[Module]) -> list[str]:
    """Return the lines that compare something with the name of a device."""
    lines = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Compare) and DEVICES & set(_texts([node.left, *node.comparators])):
                lines.add((module.name, node.lineno))
    return [f"{name}:{line}" for name, line in sorted(lines)]


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield from _texts(node.elts)


def worded(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the modules, classes, functions and variables whose names hold a word of `WORDS`, by word.

    A function or class counts when the word is part of its name, a variable when it is the name.
    """
    places: dict[str, list[str]] = {word: [] for word in WORDS}
    for module in modules:
        names = [(module.name.rpartition(".")[2], module.name)]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef | Function):
                names.append((node.name, f"{module.name}:{node.lineno} {node.name}"))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in WORDS:
                places[node.id].append(f"{module.name}:{node.lineno}")
        for name, where in names:
            plain = f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}_"
            for word in WORDS:
                if f"_{word}_" in plain:
                    places[word].append(where)
    return places


#: classes that every device has under one name, so that code picks the module and not the class
BACKEND_CLASSES = {"BlockSum", "Segment"}


def namesakes(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the names of public classes that several files define, each with the files.

    The classes of `BACKEND_CLASSES` count once for all devices below ``subsalt.kernels``.
    """
    places: dict[str, list[str]] = {}
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                is_backend = node.name in BACKEND_CLASSES and room(module.name) == "subsalt.kernels"
                place = "subsalt.kernels" if is_backend else module.name
                known = places.setdefault(node.name, [])
                if place not in known:
                    known.append(place)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


#: suffixes of the files in which the words of `CHANGES` are looked for
SUFFIXES = (".py", ".toml", ".json", ".cpp", ".hpp", ".cu", ".cuh", ".html", ".js", ".txt")


def named_things(root: Path) -> dict[str, frozenset[str] | str]:
    """Return the files of `SOURCES` by path: of a Python file all identifiers and texts, of others the whole text."""
    things: dict[str, frozenset[str] | str] = {}
    for path in sorted(p for folder in SOURCES for p in (root / folder).rglob("*")):
        if path.suffix in SUFFIXES:
            text = path.read_text(encoding="utf-8")
            is_python = path.suffix == ".py"
            things[path.relative_to(root).as_posix()] = (
                frozenset(_names(ast.parse(text))) if is_python else text
            )
    return things


def radius(things: Mapping[str, frozenset[str] | str], words: str, aside: str) -> list[str]:
    """Return the files that name an example, by identifier or text.

    Parameters
    ----------
    things : mapping
        `named_things` of a source tree.
    words : str
        Regular expression of the whole name; in files that are not Python, of a whole word.
    aside : str
        Regular expression of the paths that don't count; none when empty.
    """
    whole, anywhere = re.compile(words), re.compile(rf"(?<![A-Za-z])({words})(?![A-Za-z])")
    return [
        name
        for name, said in things.items()
        if not (aside and re.search(aside, name))
        and (anywhere.search(said) if isinstance(said, str) else any(map(whole.fullmatch, said)))
    ]


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield identifiers and texts of a tree, docstrings aside."""
    documented = set()
    for node in ast.walk(tree):  # parents before children
        if isinstance(node, ast.Module | ast.ClassDef | Function) and node.body:
            first = node.body[0]
            documented.add(id(first.value) if isinstance(first, ast.Expr) else 0)
        for name in ("id", "attr", "arg", "name", "module"):
            word = getattr(node, name, None)
            if isinstance(word, str):
                yield word
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def is_of_lab(name: str) -> bool:
    """Return whether a module is of the lab, in the package or in a distribution of its own."""
    return f"{name}.".startswith(LAB)


def measure(root: Path) -> dict[str, object]:
    """Return all figures of a source tree, with the names behind those that are to be small."""
    everything, things = read(root), named_things(root)
    rooms = {n: m for n, m in everything.items() if not is_of_lab(n)}
    largest = max(rooms.values(), key=lambda m: m.lines)
    long = functions(everything.values())
    rings = circles({n: sorted(m.named) for n, m in everything.items()})
    running = circles({n: sorted(m.runs) for n, m in everything.items()})
    reached = {start: reach(everything, f"subsalt.{start}") for start in STARTS}
    return {
        **{
            f"reach {s}": [len(names), sum(everything[n].lines for n in names)]
            for s, names in reached.items()
        },
        "two_ideas": {
            n: [f"{k} {first}" for k, first in p] for n, m in rooms.items() if len(p := parts(m)) > 1
        },
        **{f"radius {what}": radius(things, *example) for what, example in CHANGES.items()},
        "lines": sum(m.lines for m in rooms.values()),
        "lines_lab": sum(m.lines for n, m in everything.items() if is_of_lab(n)),
        "largest_file": f"{largest.lines} {largest.name}",
        "over_600": sorted(m.name for m in rooms.values() if m.lines > 600),
        "long_functions": sorted(name for name, length, _ in long if length > 60),
        "many_parameters": sorted(name for name, _, parameters in long if parameters > 6),
        "largest_circle": rings[0] if rings else [],
        "largest_running_circle": running[0] if running else [],
        "circles_across": [ring for ring in rings if len({room(n) for n in ring}) > 1],
        "namesakes": namesakes(rooms.values()),
        "device_lines": device_lines(m for n, m in rooms.items() if room(n) != "subsalt.kernels"),
        "words": worded(everything.values()),
    }


#: rows of the table: what, the figure, and what it is to be
ROWS = (
    *((f"files / lines that `{start}` reaches", f"reach {start}", None) for start in STARTS),
    ("files of two ideas", "two_ideas", None),
    *((f"files that know one example of {what}", f"radius {what}", "<= 14") for what in CHANGES),
    ("files over 600 lines", "over_600", None),
    ("functions over 60 lines, docstring aside", "long_functions", "<= 15"),
    ("functions over 6 parameters, self aside", "many_parameters", "<= 60"),
    ("files in the largest import circle", "largest_circle", None),
    ("the same without imports for type checkers", "largest_running_circle", "<= 2"),
    ("import circles across folders", "circles_across", None),
    ("names of classes that stand for several", "namesakes", "few"),
    ("lines outside kernels that compare a device", "device_lines", None),
    ("names with a word that the field does not use", "words", "0"),
    ("lines of Python in src/subsalt, the lab aside", "lines", "watched"),
    ("lines of Python in the lab", "lines_lab", "watched"),
)


def number_of(value: object) -> int | list[int]:
    """Return what is compared with a limit: the number or numbers, or how many names there are."""
    if isinstance(value, dict):
        return sum(len(names) for names in value.values()) if value and _is_of_words(value) else len(value)
    if isinstance(value, list) and not (value and isinstance(value[0], int)):
        return len(value)
    assert isinstance(value, int | list)
    return value


def _is_of_words(value: dict) -> bool:
    return set(value) == set(WORDS)


def shown(value: object) -> str:
    """Return a figure or a limit as the table has it: one number, or files / lines."""
    return " / ".join(f"{n}" for n in value) if isinstance(value, list) else f"{value}"


def table(figures: Mapping[str, object]) -> list[str]:
    """Return the lines of a Markdown table."""
    rows = [("what", "today", "aim"), ("---", "---:", "---:")]
    for what, key, aim in ROWS:
        rows.append((what, shown(number_of(figures[key])), aim or f"<= {shown(HELD[key])}"))
    return [f"| {' | '.join(row)} |" for row in rows]


def over(figures: Mapping[str, object]) -> list[str]:
    """Return what exceeds the limits of `HELD`, in words."""
    sayings = []
    for key, limit in HELD.items():
        number = number_of(figures[key])
        pairs = (
            zip(number, limit, strict=True)
            if isinstance(number, list) and isinstance(limit, list)
            else [(number, limit)]
        )
        if any(n > most for n, most in pairs):
            sayings.append(f"{key}: {shown(number)}, at most {shown(limit)}")
    return sayings


def main(words: list[str]) -> int:
    """Measure a source tree and print the table, or everything as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--json", action="store_true", help="print every figure with the names behind it")
    parser.add_argument(
        "--hold", action="store_true", help="print only what exceeds its limit, and end with 1 then"
    )
    options = parser.parse_args(words)
    figures = measure(options.root)
    if options.hold:
        sayings = over(figures)
        print("\n".join(sayings) or f"the house holds: {len(HELD)} figures within their limits")
        return 1 if sayings else 0
    print(json.dumps(figures, indent=1) if options.json else "\n".join(table(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
