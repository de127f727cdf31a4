"""Every rule finds its planted mistake, with evidence and a cure; none finds anything in clean layouts."""

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from layouts import CLEAN
from rule_mistakes import MISTAKES, NO_NUMBER, high_data, problems, scaled_vp

from subsalt import check
from subsalt.acquisition.survey import Survey
from subsalt.acquisition.wavelet import ricker
from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.traces import TreatedReader


@pytest.mark.parametrize("name", CLEAN)
def test_no_false_alarm(name):
    assert problems(CLEAN[name]()) == []


@pytest.mark.parametrize("name", MISTAKES)
def test_planted_mistake_is_found(name):
    code, make = MISTAKES[name]
    by_code = {f.code: f for f in problems(make())}
    assert code in by_code, by_code
    finding = by_code[code]
    assert finding.level == ("error" if code.startswith("E") else "warning")
    assert finding.fix
    assert "\n" not in finding.message + finding.fix
    # the message shows a value that a reader can check
    assert re.search(r"\d", finding.message) or code in NO_NUMBER


def test_at_least_forty_planted_mistakes():
    assert len(MISTAKES) >= 40
    assert len(CLEAN) >= 10


def test_every_code_of_the_rules_is_planted():
    """Here, or in another file of this folder."""
    here = Path(__file__).parent
    rules = [Path(str(inspect.getsourcefile(check))).with_name(f"{s}.py") for s in check.SUBJECTS]
    tests = [p for p in here.rglob("test_*.py") if p != Path(__file__)]
    ours, others = (
        set(re.findall(r'"([EW]\d{3})"', "".join(p.read_text() for p in f))) for f in (rules, tests)
    )
    assert ours <= {code for code, _ in MISTAKES.values()} | others


def test_a_wrong_unit_is_not_followed_by_its_consequences():
    assert [f.code for f in problems(scaled_vp(1e-3))] == ["E412"]


@pytest.mark.parametrize("phase", ["zero", "minimum"])
def test_the_wavelet_is_compared_with_filtered_traces(phase):
    """White noise after a band-pass to the band of the wavelet has no energy above it."""
    case = high_data()
    time, highest = case.survey.time, case.wavelet.fmax
    step = Bandpass(step="bandpass", corners=[1.0, 2.0, 0.9 * highest, highest], phase=phase)
    reader = TreatedReader(case.survey.reader, Flow([step], time, lambda name, key: Path(name)))
    case.survey = dataclasses.replace(case.survey, reader=reader)
    assert "W536" not in {f.code for f in problems(case)}
    # nothing passes above the last corner but what a response of the record's length leaks
    assert case.facts["data_energy_above_fmax"] < 0.02


def test_rules_without_their_needs_are_passed_over():
    assert problems(check.Context()) == []
    empty = check.Context(survey=Survey.from_arrays([[0.0, 0.0]], [[1.0, 0.0]], nt=10, dt=0.004))
    assert problems(empty) == []
    assert problems(check.Context(wavelet=ricker(10.0, 0.001))) == []


@pytest.mark.parametrize("most", [1, 200, 1 << 24])
def test_summaries_by_slabs_are_those_of_the_whole(monkeypatch, most):
    from subsalt.earth import planes as module

    rng = np.random.default_rng(3)
    values = rng.normal(2000, 300, (40, 7, 9)).astype(np.float32)
    values[13, 2, 5] = np.nan
    values[31, 0, 0] = np.inf
    cut = module.slabs
    monkeypatch.setattr(module, "slabs", lambda v, lo, hi: cut(v, most, lo, hi))
    monkeypatch.setattr(module, "MEDIAN_OF", 600)
    summaries = module.summarise(values)
    parts = [module.summarise_part(values, a, b) for a, b in ((0, 13), (13, 13), (13, 14), (14, 40))]
    assert module.combine(values.size, parts) == summaries
    finite = values[np.isfinite(values)]
    assert (summaries.bad, summaries.first_bad, summaries.size) == (2, (13, 2, 5), values.size)
    assert (summaries.low, summaries.high) == (float(finite.min()), float(finite.max()))
    sample = values.reshape(-1)[:: values.size // 600]
    assert summaries.median == float(np.median(sample[np.isfinite(sample)]))
