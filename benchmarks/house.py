"""How large are the files, folders and functions of subsalt, and do its imports form circles?

    python benchmarks/house.py [--json] [ROOT]

Everything is read from the source by `ast`; nothing is imported. Lines are all lines of a file. The lab is counted by
itself, wherever it lies (``src/subsalt/lab``, or ``packages/lab``).

What the figures mean:

importer
    A module that names another in an import, also one inside a function or for type checkers alone. ``from a import b``
    imports the module ``a.b`` where there is one, else ``a``. A module with one importer is not counted when that
    importer is a registry: the ``__init__`` of its folder, the ``method`` of a method's folder, a module of the command
    that lists a command, or the only importer of at least `REGISTERED` modules of one folder. Rules of the checks are
    listed by what they are named, and not counted either.
circle
    A strongly connected component of the imports (Tarjan 1972), those inside functions included; once with the imports
    for type checkers, once without.
function
    Its lines from ``def`` to its end, without the docstring; its parameters without ``self`` and ``cls``.
device
    A line that compares something with the name of a device. What the lines of `kernels` compare is not counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

#: folders of packages
PACKAGES = ("src/subsalt", "packages/lab/src/subsalt_lab")
#: how the names of the modules of the lab begin
LAB = ("subsalt.lab.", "subsalt_lab.")
#: a module that alone imports so many modules of one folder lists them
REGISTERED = 5
DEVICES = {"cpu", "cuda", "reference", "gpu"}
#: words that are to leave the names of modules, classes and functions
WORDS = ("deal", "dealer", "player", "told", "going_on", "look_back", "ways", "kept", "feed", "found")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """One file: its name, its text as a tree, and what it imports.

    Parameters
    ----------
    name : str
        With dots, such as ``subsalt.io.volumes.volume``.
    lines : int
    tree : ast.Module
    is_package : bool
        Whether it is an ``__init__``.
    named : set of str
        Modules named in any import of it.
    runs : set of str
        Those whose import runs, at once or in a function.
    """

    name: str
    lines: int
    tree: ast.Module
    is_package: bool
    named: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)

    @property
    def folder(self) -> str:
        """The package that it lies in; of an ``__init__``, itself."""
        return self.name if self.is_package else self.name.rpartition(".")[0]


def read(root: Path) -> dict[str, Module]:
    """Return the modules of `PACKAGES` below a source tree, by name."""
    found = {}
    for path in sorted(p for package in PACKAGES for p in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[parts.index("src") + 1 :]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[: len(parts) - is_package])
        text = path.read_text(encoding="utf-8")
        found[name] = Module(name, len(text.splitlines()), ast.parse(text), is_package)
    for module in found.values():
        module.named = set(_imports(module, module.tree, found, True)) - {module.name}
        module.runs = set(_imports(module, module.tree, found, False)) - {module.name}
    return found


def _imports(module: Module, node: ast.AST, known: Mapping[str, Module], types: bool) -> Iterator[str]:
    """Yield the known modules that imports below a node name; `types`: also those for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _is_for_types(child.test) and not types:
            for below in child.orelse:
                yield from _imports(module, below, known, types)
        elif isinstance(child, ast.Import):
            yield from (a.name for a in child.names if a.name in known)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(module, child)
            for alias in child.names:
                full = f"{base}.{alias.name}"
                yield from [full] if full in known else [base] if base in known else []
        else:
            yield from _imports(module, child, known, types)


def _is_for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.folder.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


#: folders of rules, and of commands
RULES = re.compile(r"subsalt\.(check|methods\.\w+\.rules)\.")
COMMANDS = ("subsalt.cli.", "subsalt_lab.cli.")


def _is_listed(name: str, importer: str) -> bool:
    """Return whether a module is one of those that a registry lists: a rule, a command, a method's file."""
    of_method = importer == f"{name.rpartition('.')[0]}.method" and name.startswith("subsalt.methods.")
    command = name.startswith(COMMANDS) and importer.startswith(COMMANDS)
    return bool(RULES.match(name)) or of_method or command


def single(modules: Mapping[str, Module]) -> list[str]:
    """Return the modules that exactly one other imports, without those that a registry lists."""
    importers: dict[str, list[str]] = {name: [] for name in modules}
    for module in modules.values():
        for name in module.named:
            importers[name].append(module.name)
    alone = {n: by[0] for n, by in importers.items() if len(by) == 1 and not modules[n].is_package}
    listed = Counter((by, modules[n].folder) for n, by in alone.items())
    return sorted(
        n
        for n, by in alone.items()
        if not (modules[by].is_package and by == modules[n].folder)
        and listed[by, modules[n].folder] < REGISTERED
        and not _is_listed(n, by)
    )


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node, the largest first (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in edges:
        if node not in index:
            visit(node)
    return sorted((c for c in found if len(c) > 1), key=lambda c: (-len(c), c))


def room(name: str) -> str:
    """Return the folder below the package that a module lies in; a loose file is a room of its own."""
    return ".".join(name.split(".")[:2])


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
    told = ast.get_docstring(node, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if told else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def _parameters(node: Function) -> int:
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def device_lines(modules: Iterable[Module]) -> list[str]:
    """Return the lines that compare something with the name of a device."""
    found = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Compare) and DEVICES & set(_texts([node.left, *node.comparators])):
                found.add((module.name, node.lineno))
    return [f"{name}:{line}" for name, line in sorted(found)]


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield from _texts(node.elts)


def worded(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return the modules, classes and functions whose names hold a word of `WORDS`, by word."""
    found: dict[str, list[str]] = {word: [] for word in WORDS}
    for module in modules:
        names = [(module.name.rpartition(".")[2], module.name)]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef | Function):
                names.append((node.name, f"{module.name}:{node.lineno} {node.name}"))
        for name, where in names:
            plain = f"_{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}_"
            for word in WORDS:
                if f"_{word}_" in plain:
                    found[word].append(where)
    return found


def layers(root: Path) -> tuple[int, int]:
    """Return the lines of the contract of layers, and how many of them join modules with ':'."""
    path = root / "pyproject.toml"
    tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}) if path.exists() else {}
    contracts = tool.get("importlinter", {}).get("contracts", [])
    lines = [line for c in contracts if c.get("type") == "layers" for line in c["layers"]]
    return len(lines), sum(":" in line for line in lines)


def is_of_lab(name: str) -> bool:
    """Return whether a module is of the lab, in the package or in a distribution of its own."""
    return f"{name}.".startswith(LAB)


def measure(root: Path) -> dict[str, object]:
    """Return all figures of a source tree, with the names behind those that are to be small."""
    everything = read(root)
    rooms = {n: m for n, m in everything.items() if not is_of_lab(n)}
    sizes = [m.lines for m in rooms.values()]
    largest = max(rooms.values(), key=lambda m: m.lines)
    found = functions(everything.values())
    rings = circles({n: sorted(m.named) for n, m in everything.items()})
    running = circles({n: sorted(m.runs) for n, m in everything.items()})
    count, joined = layers(root)
    return {
        "lines": sum(sizes),
        "lines_lab": sum(m.lines for n, m in everything.items() if is_of_lab(n)),
        "files": len(sizes),
        "median_file": median(sizes),
        "largest_file": [largest.lines, largest.name],
        "over_600": sorted(m.name for m in rooms.values() if m.lines > 600),
        "single_importer": single(everything),
        "long_functions": sorted(name for name, length, _ in found if length > 60),
        "many_parameters": sorted(name for name, _, parameters in found if parameters > 6),
        "largest_circle": rings[0] if rings else [],
        "largest_running_circle": running[0] if running else [],
        "circles_across": [ring for ring in rings if len({room(n) for n in ring}) > 1],
        "device_lines": device_lines(m for n, m in rooms.items() if room(n) != "subsalt.kernels"),
        "words": worded(everything.values()),
        "layers": count,
        "layers_joined": joined,
    }


#: rows of the table: what, the figure, and what it is to become
ROWS = (
    ("lines of Python in src/subsalt, without the lab", "lines", "53000"),
    ("lines of Python in the lab", "lines_lab", "14000"),
    ("files in src/subsalt, without the lab", "files", "< 330"),
    ("lines of the median file", "median_file", "120 to 250"),
    ("lines of the largest file", "largest_file", "<= 600"),
    ("modules with one importer, registries aside", "single_importer", "<= 40"),
    ("functions over 60 lines, docstring aside", "long_functions", "<= 15"),
    ("functions over 6 parameters, self aside", "many_parameters", "<= 60"),
    ("files in the largest import circle", "largest_circle", "<= 2"),
    ("the same without imports for type checkers", "largest_running_circle", "<= 2"),
    ("import circles across folders", "circles_across", "0"),
    ("lines outside kernels that compare a device", "device_lines", "0"),
    ("names with a word that the field does not use", "words", "0"),
    ("lines in the contract of layers", "layers", "about 14"),
    ("of these joined by ':'", "layers_joined", "0"),
)


def number_of(value: object) -> object:
    """Return what the table shows of a figure: the number itself, or how many names there are."""
    if isinstance(value, dict):
        return sum(len(names) for names in value.values())
    if isinstance(value, list):
        return value[0] if value and isinstance(value[0], int) else len(value)
    return value


def table(figures: Mapping[str, object]) -> list[str]:
    """Return the lines of a Markdown table."""
    rows = [("what", "today", "aim"), ("---", "---:", "---:")]
    rows += [(what, f"{number_of(figures[key]):g}", aim) for what, key, aim in ROWS]
    return [f"| {' | '.join(row)} |" for row in rows]


def main(words: list[str]) -> int:
    """Measure a source tree and print the table, or everything as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--json", action="store_true", help="print every figure with the names behind it")
    asked = parser.parse_args(words)
    figures = measure(asked.root)
    print(json.dumps(figures, indent=1) if asked.json else "\n".join(table(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
