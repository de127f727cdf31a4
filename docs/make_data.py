"""Write the tables of docs/howto/data.md: the surveys of `subsalt example`, and the public data of the examples."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from subsalt.examples import EXAMPLES, example_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "howto" / "data.md"
FOLDER = ROOT / "examples"


def data_script() -> ModuleType:
    """Return `examples/data.py` as a module."""
    spec = importlib.util.spec_from_file_location("examples_data", FOLDER / "data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def surveys() -> str:
    """Return the table of the surveys that `subsalt example` makes."""
    rows = ["| name | survey | shots | reflectors |", "|---|---|---|---|"]
    for name in EXAMPLES:
        example = example_of(name)
        shots = f"{example.shots}" + (f", up to {example.most}" if example.most > example.shots else "")
        rows.append(f"| `{name}` | {example.summary} | {shots} | {example.truth} |")
    return "\n".join(rows)


def users(name: str) -> str:
    """Return the jobs and scripts of the examples that name a file."""
    stem = name.rpartition("/")[2].removesuffix(".gz")
    programs = sorted(
        path for path in [*FOLDER.glob("*.toml"), *FOLDER.glob("*.py")] if path.name != "data.py"
    )
    return ", ".join(f"`{path.name}`" for path in programs if stem in path.read_text(encoding="utf-8"))


def public_data() -> str:
    """Return the table of the public data, as `examples/data.py` lists them."""
    rows = ["| file | content | size | source | terms | used by |", "|---|---|---|---|---|---|"]
    for file in data_script().FILES:
        content = file.about + (f"; **converted**: {file.conversion}" if file.conversion else "")
        source = f"`{file.repository}`: `{file.path}`"
        cells = (f"`{file.name}`", content, f"{file.size / 1e6:.1f} MB", source, file.terms, users(file.name))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def page(text: str) -> str:
    """Return the page with its tables written again."""
    for name, table in (("surveys", surveys()), ("public data", public_data())):
        begin, end = f"<!-- {name}: made by docs/make_data.py -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table}\n\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
