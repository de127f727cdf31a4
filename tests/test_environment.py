"""The environment of `make setup` is the pinned one, pip and setuptools included, which it finds or makes otherwise."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PINNED = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())


def plain(name: str) -> str:
    """Return the name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


LIBRARIES = dict(line.split("==") for line in (ROOT / "constraints-libraries.txt").read_text().split())


def test_every_line_pins_one_version() -> None:
    for name in ("constraints.txt", "constraints-libraries.txt"):
        for line in (ROOT / name).read_text().splitlines():
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line), line
    assert {"pip", "setuptools"} <= set(PINNED)


def test_pip_itself_is_installed_before_everything_else() -> None:
    steps = re.findall(r"pip install \$\(PIP_FLAGS\) (.*)", (ROOT / "Makefile").read_text())
    assert steps[0] == "pip setuptools"
    assert "-c constraints.txt" in (ROOT / "Makefile").read_text()


def test_the_list_of_libraries_has_every_extra_and_nothing_that_is_pinned_otherwise() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("xarray", "pylops", "torch", "notebook"):
        for requirement in extras[extra]:
            assert plain(re.split(r"[<>=\[]", requirement)[0]) in map(plain, LIBRARIES), requirement
    # PyTorch comes with the runtime that it was built for; that of `make cuda` is newer
    assert {plain(name) for name in PINNED} & {plain(name) for name in LIBRARIES} == {"nvidia-cuda-runtime"}


@pytest.mark.skipif(
    not Path(sys.prefix, ".subsalt-setup").exists(), reason="this environment was not made by `make setup`"
)
def test_what_is_installed_is_what_is_pinned() -> None:
    pinned = {plain(name): version for name, version in PINNED.items()}
    installed = {plain(d.metadata["Name"]): d.version for d in distributions()}
    other = {n: v for n, v in installed.items() if n in pinned and v != pinned[n]}
    assert not other, "run `make setup`"
    assert {"pip", "setuptools"} <= set(installed)
