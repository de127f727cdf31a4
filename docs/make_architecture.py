"""Write the layers of docs/architecture.md from the import contract in pyproject.toml; with --check, only compare."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PAGE = Path(__file__).with_name("architecture.md")
BEGIN, END = "<!-- layers: begin -->", "<!-- layers: end -->"


def layers() -> list[list[str]]:
    """Return the modules of each layer, the highest first."""
    text = (PAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    contract = next(c for c in contracts if c["name"] == "layers")
    return [re.split(r" *[|:] *", layer) for layer in contract["layers"]]


def drawing() -> str:
    """Return the layers as a drawing, one line each."""
    rows = [" · ".join(modules) for modules in layers()]
    width = max(map(len, rows))
    edge = "+" + "-" * (width + 2) + "+"
    return "\n".join(["```text", edge, *(f"| {row.ljust(width)} |" for row in rows), edge, "```"])


def page(text: str) -> str:
    """Return the page with a new drawing."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Write the page, or compare it."""
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if old == new else f"{PAGE.name} is out of date; run: python docs/make_architecture.py")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
