"""Traces and models in MDIO and Zarr stores: the survey that was put in, chunk by chunk; what is not read is named."""

from __future__ import annotations

import numpy as np
import pytest
from trace_stores import shots_store

from job_files import MIGRATE, survey, velocity, write_files, write_job
from subsalt.errors import ConfigError, DataError, SegyError, SubsaltError
from subsalt.io import trace_store
from subsalt.io.input_file import InputFile
from subsalt.io.prestack.table import open_traces
from subsalt.io.scan.scan import scan
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm.data import open_survey
from subsalt.methods.rtm.job import Job
from thorough import each

pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
zarr = pytest.importorskip("zarr", reason="MDIO and Zarr need the extra zarr")


def line():
    """Return shots with samples that tell every trace apart."""
    made = survey(n_shots=3, nt=151)
    rng = np.random.default_rng(2)
    for shot in made.shots:
        shot.data = rng.standard_normal(shot.data.shape).astype(np.float32)
    return made


def assert_same(table, made):
    assert (table.time.nt, table.time.dt, table.time.t0) == (made.time.nt, made.time.dt, made.time.t0)
    assert [s.id for s in table] == [s.id for s in made]
    for a, b in zip(table, made, strict=True):
        np.testing.assert_array_equal(table.traces(a), b.data)
        np.testing.assert_allclose(a.src[[0, 2]], b.src[[0, 2]], atol=1e-9)
        np.testing.assert_allclose(a.rcv[:, [0, 2]], b.rcv[:, [0, 2]], atol=1e-9)


@pytest.mark.parametrize(
    ("chunks", "coordinates"), each([(1, 5, 1000), (2, 3, 40), (3, 15, 151)], [False, True])
)
def test_the_survey_is_the_one_put_in(tmp_path, chunks, coordinates):
    made = line()
    path = shots_store(tmp_path / "line.mdio", made, chunks=chunks, coordinates=coordinates)
    assert_same(read_survey(path), made)
    result = scan(path)
    assert (result.n_shots, result.n_traces) == (3, 45)
    assert not [f for f in result.findings if f.level == "error"]


def test_positions_keep_64_bits(tmp_path):
    made = line()
    for shot in made.shots:
        shot.src[0] += 1 / 3
    path = shots_store(tmp_path / "line.zarr", made, coordinates=True)
    table = open_traces(path)
    np.testing.assert_array_equal(table.src[::15, 0], [s.src[0] for s in made.shots])


def test_points_without_a_trace_are_none(tmp_path):
    made = line()
    path = shots_store(tmp_path / "line.mdio", made, dead=[(0, 0), (1, 7), (2, 14)])
    table = open_traces(path)
    assert len(table) == 42
    traces = table.traces(np.arange(42))
    keep = np.ones((3, 15), bool)
    keep[[0, 1, 2], [0, 7, 14]] = False
    np.testing.assert_array_equal(traces, np.concatenate([s.data for s in made.shots])[keep.reshape(-1)])
    np.testing.assert_array_equal(table.channel[:14], np.arange(2, 16))


def test_chunks_are_read_and_no_others(tmp_path, monkeypatch):
    made = line()
    path = shots_store(tmp_path / "line.mdio", made, chunks=(1, 5, 151))
    table = open_traces(path)
    monkeypatch.setattr(trace_store, "_CHUNKS", trace_store._Chunks())
    read = []
    get = trace_store._Chunks.get

    def counted(self, key, array, part):
        chunk, n = get(self, key, array, part)
        read.append((array.name.strip("/"), n)) if n else None
        return chunk, n

    monkeypatch.setattr(trace_store._Chunks, "get", counted)
    rows = np.array([17, 18, 19])
    np.testing.assert_array_equal(table.traces(rows), made.shots[1].data[2:5])
    assert [n for name, n in read if name == "amplitude"] == [4 * 5 * 151]
    # headers alone need no samples
    read.clear()
    with InputFile(path) as file:
        trace = 240 + 4 * 151
        file.read_rows([3600 + trace * t for t in (0, 20)], np.empty((2, 240), np.uint8))
    assert {name for name, _ in read} == {"headers"}


def test_what_is_kept_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_store, "KEPT", 8000)
    monkeypatch.setattr(trace_store, "_CHUNKS", trace_store._Chunks())
    made = line()
    loaded = read_survey(shots_store(tmp_path / "line.mdio", made, chunks=(1, 5, 151)))
    assert_same(loaded, made)
    cached = trace_store._CHUNKS
    assert cached._bytes == sum(v.nbytes for v in cached._kept.values()) <= 8000


@pytest.mark.parametrize(("unit", "t0"), [("s", 0.1), ("us", -0.0125), ("ms", 0.3)])
def test_times_of_samples(tmp_path, unit, t0):
    loaded = read_survey(shots_store(tmp_path / "line.mdio", line(), unit=unit, t0=t0))
    assert loaded.time.t0 == pytest.approx(t0, abs=1e-12)
    assert loaded.time.dt == pytest.approx(0.004, rel=1e-12)


def test_names_of_the_job(tmp_path):
    made = line()
    path = shots_store(tmp_path / "line.mdio", made)
    group = zarr.open_group(str(path), mode="r+")
    x = np.stack([s.rcv[:, 0] for s in made.shots]) + 1000.5
    array = group.create_array(
        "gps_x", shape=x.shape, dtype="f8", chunks=x.shape, dimension_names=("shot_point", "channel")
    )
    array[...] = x
    write_files(tmp_path)
    text = MIGRATE.replace('["shots.sgy"]', '["line.mdio"]') + '[data.bytes]\nreceiver_x = "gps_x"\n'
    job = Job.from_toml(write_job(tmp_path, text))
    loaded = open_survey(job)
    np.testing.assert_array_equal(loaded.shots[1].rcv[:, 0], x[1])
    np.testing.assert_array_equal(loaded.traces(loaded.shots[2]), made.shots[2].data)
    with pytest.raises(ConfigError, match=r"has no gps_y; it has .*gps_x") as caught:
        read_survey(path, fix=Fix(fields=(("receiver_x", "gps_y"),)))
    assert caught.value.code == "E265"
    write_survey(tmp_path / "a.sgy", made)
    with pytest.raises(ConfigError, match="whose header values have no names"):
        read_survey(tmp_path / "a.sgy", fix=Fix(fields=(("receiver_x", "gps_x"),)))


def test_a_job_takes_stores_as_it_takes_files(tmp_path):
    write_files(tmp_path)
    shots_store(tmp_path / "line.mdio", survey())
    model = zarr.open_group(str(tmp_path / "vp.zarr"), mode="w")
    for name, values, unit in (("x", 10.0 * np.arange(81), "m"), ("z", 0.01 * np.arange(51), "km")):
        model.create_array(name, data=values, dimension_names=[name]).attrs["units"] = unit
    model.create_array("vp", data=velocity(), dimension_names=["x", "z"], chunks=(40, 51))
    near = Job.from_toml(write_job(tmp_path))
    text = MIGRATE.replace("shots.sgy", "line.mdio").replace("vp.rsf", "vp.zarr")
    far = Job.from_toml(write_job(tmp_path, text, "far.toml"))
    assert_same(open_survey(far), survey())
    assert far.load_model().grid == near.load_model().grid
    np.testing.assert_array_equal(far.load_model().vp, near.load_model().vp)
    facts = {f["key"]: f for f in far.inputs()}
    assert facts["data.files"]["bytes"] == sum(
        p.stat().st_size for p in (tmp_path / "line.mdio").rglob("*") if p.is_file()
    )
    chunk = next(p for p in (tmp_path / "line.mdio" / "amplitude" / "c").rglob("*") if p.is_file())
    chunk.write_bytes(chunk.read_bytes()[::-1])
    assert {f["key"]: f for f in far.inputs()}["data.files"]["sha256"] != facts["data.files"]["sha256"]


def test_models_in_depth(tmp_path):
    i, j = np.meshgrid(np.arange(4), np.arange(3), indexing="ij")
    group = zarr.open_group(str(tmp_path / "vp.mdio"), mode="w")
    group.attrs["attributes"] = {"defaultVariableName": "velocity"}
    values = np.random.default_rng(0).uniform(1500, 4000, (4, 3, 8)).astype(np.float32)
    dims = ("inline", "crossline", "depth")
    for name, data, along in (
        ("inline", np.arange(4) + 100, dims[:1]),
        ("crossline", np.arange(3) + 200, dims[1:2]),
        ("depth", 5.0 * np.arange(8) + 20.0, dims[2:]),
        ("cdp_x", 500_000.25 + 25.0 * i, dims[:2]),
        ("cdp_y", 6_000_000.5 + 12.5 * j, dims[:2]),
        ("trace_mask", np.ones((4, 3), bool), dims[:2]),
        ("velocity", values, dims),
    ):
        group.create_array(name, data=data, dimension_names=along)
    opened = volume.open_volume(tmp_path / "vp.mdio")
    assert opened.grid.spacing == (25.0, 12.5, 5.0)
    assert opened.grid.origin == (500_000.25, 6_000_000.5, 20.0)
    np.testing.assert_array_equal(opened.planes.read(1, 3), values[1:3])
    with pytest.raises(SegyError, match="samples are over depth"):
        open_traces(tmp_path / "vp.mdio")
    with pytest.raises(DataError, match="samples are over time"):
        volume.open_volume(shots_store(tmp_path / "line.mdio", line()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: g.attrs.update({"attributes": {}}) or g.create_array("b", data=np.ones((3, 15, 151)),
         dimension_names=["shot_point", "channel", "time"]), "which array holds the samples"),
        (lambda g: g["time"].attrs.update({"unitsV1": {"time": "yd"}}), "time has the unit 'yd'"),
        (lambda g: g["time"].__setitem__(5, 7.0), "does not grow in even steps"),
        (lambda g: g["trace_mask"].__setitem__(..., False), "there is no trace"),
        (lambda g: g.__delitem__("time"), "no array says its values"),
    ],
    ids=["samples", "unit", "steps", "mask", "axis"],
)  # fmt: skip
def test_what_is_not_read_is_named(tmp_path, change, words):
    path = shots_store(tmp_path / "line.mdio", line())
    change(zarr.open_group(str(path), mode="r+"))
    with pytest.raises(SegyError, match=words) as caught:
        read_survey(path)
    assert caught.value.code == "E264"


def test_header_values_that_do_not_fit_are_named(tmp_path):
    path = shots_store(tmp_path / "line.mdio", line(), drop=("headers",), coordinates=True)
    group = zarr.open_group(str(path), mode="r+")
    group.create_array("ffid", data=np.full((3, 15), 1.5), dimension_names=["shot_point", "channel"])
    with pytest.raises(SegyError, match=r"ffid holds values that are no 32-bit integers, such as 1\.5"):
        read_survey(path)


def test_damage_is_an_error(tmp_path):
    path = shots_store(tmp_path / "line.mdio", line())
    for chunk in (path / "amplitude" / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(b"no chunk")
    loaded = read_survey(path)
    with pytest.raises(SubsaltError, match=r"line\.mdio cannot be read"):
        loaded.traces(loaded.shots[0])
    (tmp_path / "none.mdio").mkdir()
    with pytest.raises(SubsaltError, match="is no Zarr store"):
        read_survey(tmp_path / "none.mdio")
