"""Report phrases that a reader has to guess at, in the documentation, in the texts of error messages and in docstrings.

Each pattern names what to write instead. Code, in blocks or between backquotes, is not looked at; nor are tables that
scripts paste between markers. In Python files, docstrings and the entries of their sections must not begin with ``Of``
or ``What``, variables must not have a name of `NAMES`, and strings that users see are read for the same phrases and a
few more. ``python docs/check_words.py [FILE ...]`` ends with 1 when
it finds something.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: what not to write, and what to write
PHRASES = {
    r"\bgo(es)? on\b|\bgoing on\b|\bwent on\b": "continue, be resumed",
    r"\banew\b": "again, new",
    r"\brightly\b": "correctly",
    r"\bmend(s|ed|ing)?\b": "fix, correct, repair",
    r"\bbut for\b": "except for",
    r"\ball the same\b": "anyway, nevertheless",
    r"\bis told\b|\bare told\b|\btold (of|by|apart)\b": "is reported; distinguished",
    r"\btells? (of|apart)\b": "report, distinguish",
    r"\bpass(es|ed) over\b": "skip, ignore",
    r"\b(had|has|have) again\b": "recompute, obtain again",
    r"\bwhat (it|that|this) takes\b": "time, memory or cost, by name",
    r"\bwhat no \w+ \w+": "name the thing: unaccounted time",
    r"\bas ever\b": "as usual, or nothing",
    r"\bwhoever\b": "name who does it",
    r"\bin hand\b": "in progress",
    r"\bunder way\b": "in progress, in flight",
    r"\bfor ever\b|\bfor good\b": "permanently",
    r"\bnow and then\b": "occasionally",
    r"\bspeaks for\b": "prints for",
    r"\bat hand\b": "available",
    r"\bset(s)? aside\b": "quarantined; moved away",
    r"\bdealt\b|\bdealer\b": "assigned, distributed",
    r"\bbytes count, ": "only byte counts mean something",
    r"\bof one's own\b": "your own",
    r"\bby which it is\b": "subject, verb, object",
    r"\bput(s)? together\b": "combined",
    r"\bfalls? silent\b|\bfell silent\b": "stops responding",
    r"\bcome(s)? to (it|them|this|that)\b": "reach",
    r"\bwants? (one|none|it|them)\b": "requires",
    r"\bthe trade\b": "industry",
    r"\bnot so\b": "wrong, otherwise",
    r"\bsave for\b": "except for",
    r"\bat work\b": "in use, running",
    r"\ba class of (its|their) own\b": "a separate class",
    r"\bconcerned are\b": "affected are",
    r"\bis no (fault|loss|part|disk|number|end)\b": "is not a",
    r"\bstruck\b|\bstrikes\b": "killed, injected faults",
    r"\btold the truth\b|\blies? (about|that)\b|\bthat lie\b": "wrong",
}
#: what not to write in a text that a user sees, besides `PHRASES`
SPOKEN_PHRASES = {
    r"\bsomebody\b|\bnobody\b": "name who it is",
    r"\bheld against\b": "compared with",
    r"\btakes? on\b": "need, take over",
    r"\blaid\b": "placed, cut",
    r"\bsilences? (it|this) too\b": "name what is silenced",
    r"; (that of )?[\w.]+\.$": "give the default as [default: ...]",
}
#: functions, besides classes of errors, whose texts users see, and arguments that hold such texts
SPOKEN = {"ok", "error", "warning", "unchecked", "Finding", "say", "echo", "print", "option", "Field"}
SPOKEN_ARGUMENTS = {"help", "short_help", "epilog", "description", "fix", "cure"}
#: names of variables that say nothing of what they hold
NAMES = {"found", "told", "asked", "kept", "ways", "feed"}
#: how no docstring begins: with what it is of, before it says what it is
BEGINNING = re.compile(r"(Of|What)\b")
#: where the Python files lie that are checked
SOURCES = ("src/subsalt", "packages/lab/src/subsalt_lab", "tests", "benchmarks")
#: folders and files that still have docstrings, and names of variables, to reword
HELD_DOCSTRINGS: tuple[str, ...] = (
    "benchmarks/",
    "tests/",
)
HELD_NAMES: tuple[str, ...] = ()
#: whether anything of `PHRASES` is in a page, where a phrase may be broken over two lines, or in a text that users see:
#: nearly always not, and one search for all of them is much faster than one for each
_ANY_IN_PAGE = re.compile("|".join(f"(?:{p})" for p in PHRASES).replace(" ", r"\s+"), re.IGNORECASE)
_ANY_SPOKEN = re.compile("|".join(f"(?:{p})" for p in PHRASES | SPOKEN_PHRASES), re.IGNORECASE)
#: an entry of a section of a docstring: its name and type
_ENTRY = re.compile(r"\w[\w*, ]*( : .*)?")
#: a page whose text is a program's output says what the program says
GENERATED = re.compile(r"<!-- ([\w ]+): begin -->.*?<!-- \1: end -->", re.DOTALL)


def blank(match: re.Match[str]) -> str:
    """Return as many empty lines as the text had, so that line numbers stay."""
    return "\n" * match[0].count("\n")


def prose(path: Path) -> str:
    """Return the prose of a page, its lines where they were."""
    text = path.read_text(encoding="utf-8")
    text = GENERATED.sub(blank, text)
    text = re.sub(r"^ *```.*?^ *```", blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "``", text)


def messages(path: Path) -> str:
    """Return the texts of the messages, their lines where they were; code may be broken over two lines."""
    return re.sub(r"`[^`]*`", lambda code: f"``{blank(code)}", path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Yield first line number and lines of every docstring of a module, indented as they are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield node.body[0].lineno, text.splitlines()


def indent(line: str) -> int:
    """Return the number of spaces before a line."""
    return len(line) - len(line.lstrip())


def beginnings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line number and text of docstrings, and of entries of their sections, that begin as none should."""
    for number, lines in docstrings(tree):
        for i, line in enumerate(lines):
            above = lines[i - 1] if i else ""
            is_entry = _ENTRY.fullmatch(above.strip()) and indent(line) > indent(above)
            if BEGINNING.match(line.strip()) and (i == 0 or is_entry):
                yield number + i, line.strip()


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line number and name of the variables and parameters whose names say nothing."""
    for node in ast.walk(tree):
        name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else ""
        if name in NAMES and (isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store)):
            yield node.lineno, name


def spoken(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line number and text of the strings of a module that users see: help, findings, errors, output."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        texts = [keyword.value for keyword in node.keywords if keyword.arg in SPOKEN_ARGUMENTS]
        if name in SPOKEN or name.endswith("Error"):
            texts += node.args
        for text in texts:
            for part in ast.walk(text):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, re.sub(r"`[^`]*`", "``", part.value)


def spoken_findings(tree: ast.Module, place: str) -> Iterator[str]:
    """Yield the phrases to reword in the strings that users see."""
    seen = set()
    for line, text in spoken(tree):
        if not _ANY_SPOKEN.search(text):
            continue
        for pattern, instead in (PHRASES | SPOKEN_PHRASES).items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                # a text may be an argument of two calls, one inside the other
                if (line, match[0]) not in seen:
                    seen.add((line, match[0]))
                    yield f"{place}:{line}: '{match[0]}': {instead}"


def python_findings(path: Path) -> Iterator[str]:
    """Yield the findings in a Python file, without those of the folders that are held."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = path.relative_to(ROOT).as_posix()
    if not place.startswith(HELD_DOCSTRINGS):
        for line, text in beginnings(tree):
            yield f"{place}:{line}: '{text[:40]}': begin with a verb or with what the thing is"
    if not place.startswith(HELD_NAMES):
        yield from (f"{place}:{line}: variable '{name}': name what it holds" for line, name in names(tree))
    if not place.startswith(("tests/", "benchmarks/")):
        yield from spoken_findings(tree, place)


def pages() -> Iterator[Path]:
    """Yield what is checked when no file is named."""
    for folder in SOURCES:
        yield from sorted((ROOT / folder).rglob("*.py"))
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"
    # the page of errors is made from the messages
    yield from (page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "errors.md")
    yield ROOT / "src" / "subsalt" / "messages.toml"


def findings(path: Path) -> Iterator[str]:
    """Yield the findings in a file, in its order."""
    if path.suffix == ".py":
        yield from python_findings(path)
        return
    text = messages(path) if path.suffix == ".toml" else prose(path)
    if not _ANY_IN_PAGE.search(text):
        return
    for pattern, instead in PHRASES.items():
        # a phrase may be broken over two lines
        for match in re.finditer(pattern.replace(" ", r"\s+"), text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            words = " ".join(match[0].split())
            yield f"{path.relative_to(ROOT)}:{line}: '{words}': {instead}"


def main() -> None:
    """Print the findings."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    lines = [line for path in named or pages() for line in findings(path)]
    print("\n".join(lines))
    sys.exit(f"{len(lines)} phrases to reword (docs/check_words.py)" if lines else 0)


if __name__ == "__main__":
    main()
