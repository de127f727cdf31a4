"""The Python of the pages runs, block after block, and the commands that they show exist with these options.

A comment above a block says what it needs: ``<!-- snippet: setup NAME -->`` a function of `snippet_setups`, or
``<!-- snippet: needs PACKAGE -->`` a package that subsalt does not bring; without that package the block is skipped.
"""

import ast
import importlib.util
import inspect
import os
import re
import shlex
import sys
import tomllib
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import snippet_setups
import typer

from subsalt.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
BLOCK = re.compile(
    r"^(?P<mark> *<!-- snippet: (?P<what>\w+) (?P<name>\w+) -->\n+)?(?P<indent> *)```python\n(?P<code>.*?)^ *```",
    re.M | re.S,
)
#: modules whose use of other libraries is not ours
LIBRARIES = r"(anywidget|deepwave|obspy|pylops|segysak|torch|xarray)\b"
#: what a skipped page says besides the package
FOR = (" (make test-libraries)", "")
#: pages with Python, and its blocks
PYTHON = {
    page: list(BLOCK.finditer(text)) for page in PAGES if "```python" in (text := page.read_text("utf-8"))
}


def named(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def quiet(tmp_path, monkeypatch):
    """Run in an empty folder, with figures that open no window."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def test_every_python_block_is_one_of_them():
    """No block escapes by its form: as many as there are opening fences, and every mark stands above one."""
    for page in PAGES:
        text = page.read_text("utf-8")
        blocks = PYTHON.get(page, [])
        assert len(blocks) == len(re.findall(r"^ *```+ *\{?(?:python|py)\b", text, re.M)), named(page)
        assert sum(b["mark"] is not None for b in blocks) == text.count("<!-- snippet:"), named(page)
    assert len(PYTHON) >= 10


def pages_with_python():
    """Yield the pages; `make test-libraries` runs those that need an optional library."""
    for page, blocks in PYTHON.items():
        needs = any(block["what"] == "needs" and block["name"] != "reframe" for block in blocks)
        yield pytest.param(page, id=named(page), marks=[pytest.mark.library] if needs else [])


#: the names that a block leaves before its last statement, by its text so far: README and home page begin alike
LEFT = {}


def execute(code, name, names):
    """Run a block; what another one has computed by the same text, from nothing, is taken over."""
    last = ast.parse(code).body[-1].lineno - 1
    lines = code.splitlines(keepends=True)
    head = "".join(lines[:last])
    alone = not names
    if alone and head in LEFT:
        names |= LEFT[head]
    else:
        exec(compile(head, name, "exec"), names)
        if alone:
            LEFT[head] = dict(names)
    exec(compile("\n" * last + "".join(lines[last:]), name, "exec"), names)


def run_page(page, names=None):
    """Run the Python of a page, which leaves its `names`; return the packages for which blocks were left out."""
    names, skipped = {} if names is None else names, []
    for block in PYTHON[page]:
        if block["what"] == "needs":
            if importlib.util.find_spec(block["name"]) is None:
                skipped.append(block["name"])
                continue
        elif block["what"] is not None:
            assert block["what"] == "setup", block["mark"]
            names |= getattr(snippet_setups, block["name"])()
        code = re.sub(rf"^{block['indent']}", "", block["code"], flags=re.M)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            # what libraries say of each other
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=LIBRARIES)
            execute(code, named(page), names)
    return skipped


@pytest.mark.parametrize("page", list(pages_with_python()))
def test_the_python_of_a_page_runs(page, quiet):
    skipped = run_page(page)
    if skipped:
        pytest.skip(
            f"{named(page)}: {', '.join(sorted(set(skipped)))} is not installed{FOR[skipped[0] == 'reframe']}"
        )


def test_the_python_of_the_index_finds_its_reflector(quiet, capsys):
    assert len(PYTHON[ROOT / "docs" / "index.md"]) == 1
    assert run_page(ROOT / "docs" / "index.md") == []
    assert float(capsys.readouterr().out.split()[-1]) in (790.0, 800.0)


def test_the_python_of_the_readme_images_its_reflector(quiet):
    names = {}
    assert run_page(ROOT / "README.md", names) == []
    image, grid = names["image"], names["grid"]
    middle = np.abs(image[100:201]).mean(axis=0)
    # the strongest event of the picture is the step between 790 and 800 m
    assert abs(grid.axis(1)[int(np.argmax(middle))] - 795.0) <= 10.0


def test_a_block_is_skipped_for_a_package_that_subsalt_does_not_bring():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    brought = [*project["dependencies"], *extras["dev"], *extras["docs"], *extras["mpi"]]
    needed = {b["name"] for blocks in PYTHON.values() for b in blocks if b["what"] == "needs"}
    assert not [name for name in needed for line in brought if re.split(r"[<>=\[]", line)[0] == name]
    pinned = (ROOT / "constraints-libraries.txt").read_text("utf-8").split()
    # ReFrame runs on clusters; the others are there in `make test-libraries`, which skips no block
    assert needed - {line.partition("==")[0] for line in pinned} == {"reframe"}


def test_the_example_of_read_survey_runs(quiet):
    """It stands in the docstring, which help and the API pages show."""
    import doctest

    import subsalt

    snippet_setups.treated_job()
    os.rename("survey.sgy", "line.sgy")
    os.rename("survey-vp.rsf", "vp.rsf")
    examples = doctest.DocTestParser().get_examples(subsalt.read_survey.__doc__)
    assert len(examples) >= 4
    names = {"subsalt": subsalt}
    for example in examples:
        exec(example.source, names)
    assert names["result"].image.any()


def imported(tree):
    """Yield (module, name, what it is called) of every import of subsalt; no name where it is the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((a.name, None, a.asname) for a in node.names if a.name.split(".")[0] == "subsalt")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "subsalt":
            yield from ((node.module, a.name, a.asname or a.name) for a in node.names)


def thing(module, name):
    """Return what an import gives."""
    there = import_module(module)
    # "import a.b" binds a, in which b is then found
    if name is None:
        return sys.modules[module.split(".")[0]]
    return getattr(there, name, None) or import_module(f"{module}.{name}")


@pytest.mark.parametrize("script", sorted((ROOT / "examples").rglob("*.py")), ids=named)
def test_what_an_example_takes_of_subsalt_is_there_and_of_today(script):
    tree = ast.parse(script.read_text("utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        modules = {
            called or "subsalt": what
            for module, name, called in imported(tree)
            if inspect.ismodule(what := thing(module, name))
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in modules
            ):
                assert hasattr(modules[node.value.id], node.attr), f"{node.value.id}.{node.attr}"


#: blocks of commands; what is output alone stands in ```text
FENCE = re.compile(r"^( *)```(?:|sh|bash|console)\n(.*?)^ *```", re.M | re.S)


#: the program as Click sees it, made once
PROGRAM = typer.main.get_command(app)
#: spellings that pages name as old
OLD = ("migrate --slurm", "migrate --vscan", "reimage --out")
#: a command with an option in the text of a page
SHORT = re.compile(rf"`((?:{'|'.join(PROGRAM.commands)}) (?:[^`\n]* )?--[^`\n]+)`")


def commands(page):
    """Yield the words of every `subsalt` command in the blocks of a page, and in its text between backquotes.

    In a block with prompts the other lines are output. Text may name an option without its value.
    """
    text = page.read_text("utf-8")
    lines = []
    for block in FENCE.finditer(text):
        rows = [row.strip() for row in re.sub(r" *\\\n\s*", " ", block[2]).splitlines()]
        typed = [row.removeprefix("$ ") for row in rows if row.startswith("$ ")]
        lines += [(row, "") for row in typed or rows]
    spans = re.findall(r"`((?:mpiexec -n \d+ )?subsalt [^`\n]+)`", re.sub(FENCE, "", text))
    # without the name of the program too: `reimage --run`
    spans += [f"subsalt {span}" for span in SHORT.findall(re.sub(FENCE, "", text)) if span not in OLD]
    for line, value in [*lines, *((span, "VALUE") for span in spans)]:
        command_line = re.match(r"(?:\w+=\S+ )*(?:(?:mpiexec|srun) (?:-n \d+ )?)?subsalt +([a-z].*)", line)
        if command_line and not re.search(r"\.\.\.|…|COMMAND", line):
            words = shlex.split(re.split(r"[;|&]|  #| -- ", command_line[1])[0], comments=True)
            words += [value] if value and words[-1].startswith("-") else []
            yield words


@cache
def command_at(names):
    """Return the command to which names lead, and its parser."""
    command, context = PROGRAM, PROGRAM.context_class(PROGRAM, info_name="subsalt")
    for name in names:
        under = command.get_command(context, name)
        assert under is not None, f"no command {name}"
        command, context = under, under.context_class(under, info_name=name, parent=context)
    return command, command.make_parser(context)


def parsed(words):
    """Read a command as the program does: raises where it has no such option, or one lacks its value."""
    names, rest = (), list(words)
    while hasattr(command_at(names)[0], "get_command") and rest and not rest[0].startswith("-"):
        names += (rest.pop(0),)
    command, parser = command_at(names)
    _, _, given = parser.parse_args([*rest])
    needed = [p for p in command.params if p.required and p.param_type_name == "option" and p not in given]
    # where it is written with its job, nothing that it needs may be missing
    assert not needed or not rest or rest[0].startswith("-"), [p.opts[0] for p in needed]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_commands_on_a_page_have_these_options(page):
    wrong = []
    for words in commands(page):
        try:
            parsed(words)
        except Exception as error:
            wrong.append(f"subsalt {' '.join(words)}: {error}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_targets_of_make_on_a_page_exist(page):
    text = page.read_text("utf-8")
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    rows = [row.strip() for block in FENCE.finditer(text) for row in block[2].splitlines()]
    typed = [*rows, *re.findall(r"`([^`\n]+)`", re.sub(FENCE, "", text))]
    made = [match[1] for row in typed if (match := re.match(r"(?:\$ )?make ([a-z][a-z0-9-]*)", row))]
    assert not set(made) - set(targets)


def test_a_command_with_a_wrong_option_would_be_noticed():
    for words in (["view", "a.run", "--nothing"], ["migrate", "job.toml", "--shots"]):
        with pytest.raises(Exception, match=r"No such option|requires an argument"):
            parsed(words)
    with pytest.raises(AssertionError, match="no command seethis"):
        parsed(["seethis"])
    with pytest.raises(AssertionError, match="--to"):
        parsed(["submit", "job.toml", "--nodes", "2"])
