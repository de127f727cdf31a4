"""`examples/lsrtm.py` measures amplitudes and likeness: of the reflectors, and of images wrong by a known part."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "lsrtm.py"


@pytest.fixture(scope="module")
def example():
    """Yield the example as a module."""
    spec = importlib.util.spec_from_file_location("lsrtm_example", PATH)
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up while they are made
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_spread_and_correlation_are_those_of_the_images(example):
    judge = example.Judge(example.LensLine())
    truth = judge.line.dm().astype(np.float64)
    assert judge.correlation(truth) == pytest.approx(1.0, abs=1e-12)
    assert judge.correlation(-truth) == pytest.approx(-1.0, abs=1e-12)
    # side lobes of the neighbours, 112.5 m away, are the same at three of five reflectors
    assert judge.spread(truth) < 0.01
    # columns louder and softer by a fifth
    uneven = truth * np.where(np.arange(truth.shape[0]) % 2, 1.2, 0.8)[:, None]
    assert judge.spread(uneven) == pytest.approx(0.2, rel=0.05)
    assert judge.correlation(uneven) == pytest.approx(1 / np.sqrt(1.04), abs=0.002)
