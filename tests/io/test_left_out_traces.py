"""Traces and files that a job leaves out: how they are named, met, and refused when nothing meets them."""

import numpy as np
import pytest
from shot_records import CHANNELS, SHOTS, cured, finding_of, problems, records, write

from subsalt.errors import GeometryError
from subsalt.io.prestack.table import open_traces
from subsalt.io.segy.exclude import Exclusion, leave_out, runs, short_names, spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey
from subsalt.job.data import header_options
from subsalt.job.signal.first_break_edge import edge_of
from subsalt.methods.rtm.data_sections import DataSection


def test_exclusions():
    assert runs([5, 3, 4, 9]) == ((3, 5, 1), (9, 9, 1))
    assert spans([1, 2, 3, 8]) == "1-3, 8"
    number = np.arange(6)
    ffid, channel = np.array([1, 1, 1, 2, 2, 2]), np.array([1, 2, 3, 1, 2, 3])
    some = Exclusion(shots=((2, 2, 1),), channels=((1, 3, 2),))
    assert some.among("x/a.sgy", number, ffid, channel).tolist() == [False] * 3 + [True, False, True]
    assert (
        Exclusion("a.sgy", ((2, 3, 1),)).among("x/a.sgy", number, ffid, channel).tolist()
        == [False, True, True] + [False] * 3
    )
    assert not Exclusion("b/a.sgy").names("x/a.sgy")
    assert Exclusion("x/a.sgy").names("/data/x/a.sgy")
    assert str(Exclusion(shots=((2, 2, 1),), channels=((1, 3, 2),))) == '{shot = 2, channels = "1-3:2"}'
    assert leave_out([("x/a.sgy", [1, 2, 3, 7]), ("x/b.sgy", None)], ["x/a.sgy", "x/b.sgy"]) == (
        '[data] exclude = [{file = "a.sgy", traces = "1-3, 7"}, {file = "b.sgy"}]'
    )


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/d/a.sgy", "/d/b.sgy"], ["a.sgy", "b.sgy"]),
        (["/d/1/s.sgy", "/d/2/s.sgy", "/d/2/t.sgy"], ["1/s.sgy", "2/s.sgy", "t.sgy"]),
        (["/1/x/s.sgy", "/2/x/s.sgy"], ["1/x/s.sgy", "2/x/s.sgy"]),
        (["x/s.sgy", "s.sgy"], ["x/s.sgy", "s.sgy"]),
    ],
)
def test_files_of_one_name_are_told_apart(paths, names):
    assert list(short_names(paths).values()) == names
    for path, name in zip(paths, names, strict=True):
        # a path that is the end of another names both, whatever is written
        assert [p for p in paths if Exclusion(name).names(p)] == [path] or path == name


def test_the_cure_of_one_bad_file_leaves_the_others(tmp_path):
    headers, traces = records()
    n = len(traces)
    rng = np.random.default_rng(5)
    paths = []
    for shot in range(SHOTS):
        own = slice(shot * CHANNELS, (shot + 1) * CHANNELS)
        samples = traces[own].copy()
        if shot == 3:
            samples[4:7] = 500 * rng.standard_normal((3, samples.shape[1]))
        (tmp_path / f"run{shot}").mkdir()
        some = {k: np.broadcast_to(np.asarray(v), (n,))[own] for k, v in headers.items()}
        paths += write(tmp_path / f"run{shot}", some, samples)
    finding = finding_of(paths, "E246")
    assert 'file = "run3/line.sgy"' in finding.fix
    assert cured(paths, finding) == []
    ambiguous = Fix(exclude=(Exclusion("line.sgy", ((5, 7, 1),)),))
    assert "8 files" in finding_of(paths, "W268", fix=ambiguous).message


@pytest.mark.parametrize("scalar", [-10000, 1000])
def test_depths_have_the_scalar_that_the_coordinates_need(tmp_path, scalar):
    headers, traces = records()
    metres = {k: np.asarray(headers[k]) // 100 for k in ("source_x", "receiver_x", "source_y", "receiver_y")}
    depths = {"source_depth": 10, "receiver_elevation": -10}
    both = {"coordinate_scalar": scalar, "elevation_scalar": scalar}
    paths = write(tmp_path, headers | metres | depths | both, traces)
    shallow = finding_of(paths, "W216" if scalar < 0 else "E236")
    assert "[data.fix] elevation_scalar = 1" in shallow.fix
    assert "scalar = 1" in finding_of(paths, "W226").fix
    # and the mute behind first breaks does not believe such places
    edge = edge_of(read_survey(paths))
    assert "coordinates or times are wrong" in edge.reason
    header, fix = header_options(DataSection(files=["a"], fix={"scalar": 1, "elevation_scalar": 1}))
    assert problems(paths, fix, header) == []
    assert edge_of(read_survey(paths, header, fix)).reason == ""


def test_an_entry_that_meets_no_trace_is_refused(tmp_path):
    headers, traces = records()
    paths = write(tmp_path, headers, traces)
    for entry in (
        Exclusion("other.sgy"),
        Exclusion(shots=((999, 999, 1),)),
        Exclusion("line.sgy", ((500, 500, 1),)),
    ):
        for read in (read_survey, open_traces):
            with pytest.raises(GeometryError) as caught:
                read(paths, fix=Fix(exclude=(entry,)))
            assert caught.value.code == "E244"
