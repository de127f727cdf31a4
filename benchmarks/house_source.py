"""The modules of a source tree: their text as trees, what they import, what they reach, the parts that they hold.

Read by `ast`; nothing is imported. Used by `benchmarks/house.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: folders of packages
PACKAGES = ("src/subsalt", "packages/lab/src/subsalt_lab")
#: modules that are no Python file; an import of one does not count for its folder
COMPILED = ("subsalt._native",)
#: lines from which on something is a part of a file and not a helper
PART = 50


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
    modules = {}
    for path in sorted(p for package in PACKAGES for p in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[parts.index("src") + 1 :]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[: len(parts) - is_package])
        text = path.read_text(encoding="utf-8")
        modules[name] = Module(name, len(text.splitlines()), ast.parse(text), is_package)
    for module in modules.values():
        module.named = set(_imports(module, module.tree, modules, True)) - {module.name}
        module.runs = set(_imports(module, module.tree, modules, False)) - {module.name}
    return modules


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
                if full not in COMPILED:
                    yield from [full] if full in known else [base] if base in known else []
        elif not isinstance(child, ast.expr):  # which holds no import, and most of the nodes
            yield from _imports(module, child, known, types)


def _is_for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.folder.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def reach(modules: Mapping[str, Module], start: str) -> list[str]:
    """Return the modules that one reaches by imports that run, itself included; none when there is no such module."""
    reached, left = set(), [start] if start in modules else []
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left.extend(modules[name].runs - reached)
    return sorted(reached)


def parts(module: Module) -> list[tuple[int, str]]:
    """Return the parts of a file, the largest first: (lines, first name) of top-level definitions tied by their names.

    A definition is a function, a class or an assigned name. Two are tied when one names the other, or both a third;
    parts under `PART` lines are left out. A file that holds two parts holds two ideas.
    """
    definitions = [(node, _defined(node)) for node in module.tree.body]
    owner = {name: i for i, (_, names) in enumerate(definitions) for name in names}
    group = list(range(len(definitions)))

    def head(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    for i, (node, names) in enumerate(definitions):
        if names:
            for word in _words(node) & owner.keys():
                group[head(i)] = head(owner[word])
    lines: dict[int, int] = {}
    first: dict[int, str] = {}
    for i, (node, names) in enumerate(definitions):
        if names:
            at = head(i)
            begin = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            lines[at] = lines.get(at, 0) + (node.end_lineno or node.lineno) - begin + 1
            first.setdefault(at, names[0])
    return sorted(((n, first[at]) for at, n in lines.items() if n >= PART), reverse=True)


def _defined(node: ast.stmt) -> list[str]:
    """Return the names that a top-level statement defines; imports and expressions define none."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _words(node: ast.AST) -> set[str]:
    """Return the names below a node, and its strings, since an annotation may be one."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one node, the largest first (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    rings: list[list[str]] = []

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
            rings.append(sorted(stack[at:]))
            del stack[at:]

    for node in edges:
        if node not in index:
            visit(node)
    return sorted((c for c in rings if len(c) > 1), key=lambda c: (-len(c), c))


def room(name: str) -> str:
    """Return the folder below the package that a module lies in; a loose file is a room of its own."""
    return ".".join(name.split(".")[:2])
