"""What needs a library that is not installed ends in one line, with the command that installs it."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from packaging.requirements import Requirement

import subsalt as ss
import subsalt.torch
from subsalt import notebook
from subsalt.api import MigrationResult
from subsalt.errors import ConfigError, MissingInputError, install

ROOT = Path(__file__).resolve().parents[2]
GRID = ss.Grid((16, 14), (10.0, 10.0))
MODEL = ss.EarthModel(GRID, 2000.0)
SURVEY = ss.Survey.from_arrays([(80.0, 20.0)], [(40.0, 20.0), (120.0, 20.0)], nt=24, dt=0.004)
WAVELET = ss.ricker(15.0, 0.001)
IMAGE = MigrationResult(np.zeros(GRID.shape, np.float32), None, GRID, 0.001, 1, 0, {"wall": 1.0}, 1)

#: by the package that is missing and the extra that installs it: what asks for it
ASKS: dict[tuple[str, str], tuple[Callable[[], object], ...]] = {
    ("xarray", "xarray"): (
        MODEL.to_xarray,
        SURVEY.to_xarray,
        IMAGE.to_xarray,
        lambda: ss.EarthModel.from_xarray(SimpleNamespace()),
        lambda: ss.Survey.from_xarray(SimpleNamespace()),
    ),
    ("obspy", "obspy"): (SURVEY.to_stream, lambda: ss.Survey.from_stream(SimpleNamespace())),
    ("pylops", "pylops"): (lambda: ss.rtm_operator(MODEL, SURVEY, WAVELET).to_pylops(),),
    ("torch", "torch"): (
        lambda: subsalt.torch.forward(np.zeros(GRID.shape), GRID, SURVEY, WAVELET),
        lambda: subsalt.torch.born(MODEL, np.zeros(GRID.shape), SURVEY, WAVELET),
    ),
    ("IPython.display", "notebook"): (lambda: notebook.progress("model"),),
    ("anywidget", "notebook"): (lambda: notebook.player("line.run"),),
}


@pytest.mark.parametrize(("name", "extra"), ASKS)
def test_a_missing_library_is_named_with_its_extra(name: str, extra: str, monkeypatch) -> None:
    imported = importlib.import_module

    def absent(module: str) -> object:
        if module.partition(".")[0] == name.partition(".")[0]:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        return imported(module)

    monkeypatch.setattr("subsalt.libraries.import_module", absent)
    for ask in ASKS[name, extra]:
        with pytest.raises(MissingInputError) as refused:
            ask()
        assert re.search(
            rf"needs the package {re.escape(name)}, which is not installed", refused.value.message
        )
        assert (refused.value.code, refused.value.fix) == ("E118", install(extra))
        assert "\n" not in str(refused.value)


def test_a_shape_is_no_grid_also_where_the_library_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"grid is a tuple, not a subsalt\.Grid") as refused:
        subsalt.torch.forward(np.zeros(GRID.shape), GRID.shape, SURVEY, WAVELET)
    assert refused.value.code == "E777"


@pytest.mark.parametrize(
    ("ask", "said", "cure"),
    [
        (
            lambda: ss.rtm_operator(2000.0, SURVEY, WAVELET),
            "model is a float",
            "subsalt.EarthModel(grid, vp)",
        ),
        (lambda: ss.born_operator(MODEL, [1], WAVELET), "survey is a list", "subsalt.Survey.from_arrays("),
        (lambda: ss.rtm_operator(MODEL, SURVEY, 15.0), "wavelet is a float", "subsalt.ricker(F0, DT)"),
        (lambda: notebook.progress(5), "label is a int, not a str", "write it in quotes"),
        (lambda: notebook._understood(("half", "done")), "called with ('half', 'done')", "(fraction)"),
        (lambda: notebook._understood(()), "called with ()", "(fraction)"),
    ],
)
def test_an_argument_of_another_type_is_one_line_with_its_cure(ask, said: str, cure: str) -> None:
    with pytest.raises(ConfigError) as refused:
        ask()
    assert refused.value.code == "E777"
    assert said in refused.value.message
    assert cure in refused.value.fix
    assert "\n" not in str(refused.value)


def test_an_extra_that_is_named_brings_the_library() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    brings = {extra: [Requirement(line).name for line in extras[extra]] for _, extra in ASKS}
    # IPython comes with anywidget
    assert all(name in brings[extra] for name, extra in ASKS if name != "IPython.display"), brings
