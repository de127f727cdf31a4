"""Real and foreign files: each is read as another program read it, or refused with the reason."""

import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from subsalt.earth.line_numbers import LineNumbers
from subsalt.errors import SegyError
from subsalt.io.scan.scan import scan
from subsalt.io.segy.reading import read_survey
from subsalt.io.volumes.segy_volume import open_segy_volume
from subsalt.io.volumes.volume import read

ROOT = Path(os.environ.get("SUBSALT_SHARED_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
SEGY = ROOT / "segy"
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not SEGY.is_dir(), reason=f"{SEGY} is absent (set SUBSALT_SHARED_DATA)"),
]
EXPECTED = json.loads((SEGY / "expected.json").read_text())["files"] if SEGY.is_dir() else {}

# names of header values in expected.json and ours
NAMES = {
    "FieldRecord": "ffid",
    "TraceNumber": "channel",
    "EnergySourcePoint": "source_point",
    "CDP": "cdp",
    "offset": "offset",
    "SourceX": "source_x",
    "SourceY": "source_y",
    "GroupX": "receiver_x",
    "GroupY": "receiver_y",
    "SourceGroupScalar": "coordinate_scalar",
    "ReceiverGroupElevation": "receiver_elevation",
    "ElevationScalar": "elevation_scalar",
    "DelayRecordingTime": "delay",
    "ns_trace": "ns",
    "dt_trace_us": "dt",
    "INLINE_3D": "inline",
    "CROSSLINE_3D": "crossline",
    "CDP_X": "cdp_x",
    "CDP_Y": "cdp_y",
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_file_is_scanned_rightly_or_refused(name):
    want = EXPECTED[name]
    if name == "segyio_broken.sgy":
        with pytest.raises(SegyError, match="do not divide"):
            scan(SEGY / name)
        return
    r = scan(SEGY / name)
    f = r.files[0]
    if want.get("readable_by_segyio") is False:
        # rev 2.1 with two more headers per trace, which the other reader refuses
        assert (f.n_traces, f.ns, f.revision) == (2, 4, (2, 1))
        return
    assert (f.bytes, f.kind, f.endian, f.ns, f.n_traces) == (
        want["bytes"],
        want["kind"],
        want["endian"],
        want["ns"],
        want["ntraces"],
    )
    s = f.statistics
    assert s.complete
    assert s.not_finite == want["nan"]
    assert (s.minimum, s.maximum) == (want["min"], want["max"])
    # sums of squares in double precision, in another order
    assert s.rms == pytest.approx(want["rms"], rel=1e-9, abs=1e-300)
    if want["kind"] == "su":
        assert round(f.dt * 1e6) == want["dt_us"]
        return
    assert f.format == want["format_in_header"] == want["format_segyio"]
    assert f.dt_binary_us == want["dt_us_bin"]
    assert f.ns_binary == want["ns_bin"]
    assert list(f.revision) == want["rev"]
    assert f.ext_text == want["ext_headers"]
    assert f.sorting == want["sorting"]
    for theirs, span in want["headers_min_max_nunique"].items():
        assert list(f.headers[NAMES[theirs]]) == span, theirs


def test_compressed_and_other_files_are_refused():
    for name in ("vp_marmousi-ii.segy.gz", "expected.json"):
        with pytest.raises(SegyError) as caught:
            scan(SEGY / name)
        assert caught.value.code in ("E219", "E211")


def test_the_whole_of_marmousi2(tmp_path):
    path = tmp_path / "vp.segy"
    with gzip.open(SEGY / "vp_marmousi-ii.segy.gz") as f, path.open("wb") as out:
        shutil.copyfileobj(f, out)
    v = read(path, spacing=(1.25, 1.25), unit="km/s")
    assert v.grid.shape == (13601, 2801)
    model = np.load(ROOT / "models" / "marmousi2_5m.npz")["vp"]
    # the model file holds every fourth point of this one, in hundredths of a metre per second
    assert np.abs(v.values[::4, ::4] - model).max() < 0.0051
    assert scan(path).kind == "stack"


def test_viking_graben():
    s = read_survey(SEGY / "viking_small.segy")
    assert [shot.id for shot in s.shots] == [3, 4, 5, 6]
    assert s.ndim == 2
    assert (s.time.nt, s.time.dt, s.time.t0) == (600, 0.004, 0.0)
    assert all(len(shot.rcv) == 120 for shot in s.shots)
    first = s.shots[0]
    assert first.src.tolist() == [3237.0, 0.0, 6.0]
    assert first.rcv[0].tolist() == [0.0, 0.0, 10.0]
    d = np.concatenate([s.traces(shot) for shot in s.shots])
    want = EXPECTED["viking_small.segy"]
    assert (d.min(), d.max()) == (np.float32(want["min"]), np.float32(want["max"]))
    codes = {f.code for f in scan(SEGY / "viking_small.segy").findings}
    assert codes == {"W211", "W240"}


def test_fine_spacing_and_depths_stored_upside_down():
    r = scan(SEGY / "judi_two_shots.segy")
    assert [f.code for f in r.findings] == ["W243"]
    s = read_survey(SEGY / "judi_two_shots.segy", fix=_fix(z_sign=-1))
    x = s.shots[0].rcv[:, 0]
    # 119 steps between 50 and 1150 m, stored to a millimetre
    assert np.abs(np.diff(x) - 1100 / 119).max() <= 1.001e-3
    assert s.shots[0].rcv[0, 2] == 50.0
    assert s.shots[0].src[2] == 20.0


def _fix(**values):
    from subsalt.io.segy.fix import Fix

    return Fix(**values)


def test_a_scalar_that_cannot_be_right_is_noticed():
    assert "W227" in {f.code for f in scan(SEGY / "land_real_gather.sgy").findings}


def test_volve_is_a_rotated_grid():
    v = read(SEGY / "volve10-migvel-depth-sub3d.sgy")
    model = np.load(ROOT / "models" / "volve_migvel3d.npz")
    assert v.grid.shape == (18, 52, 226)
    assert v.grid.spacing == (50.0, 50.0, 20.0)
    assert np.array_equal(v.values, model["vp"])
    lines = open_segy_volume(SEGY / "volve10-migvel-depth-sub3d.sgy").lines
    assert lines == LineNumbers(10087, 4, 2148, 4)
    x, y = np.meshgrid(v.grid.axis(0), v.grid.axis(1), indexing="ij")
    world = v.frame.to_world(np.stack([x, y, 0 * x], axis=-1).reshape(-1, 3)).reshape(18, 52, 3)
    # coordinates are stored to a centimetre; the corner is one of them, the slope averages all
    assert np.abs(world[..., 0] - model["utm_x_m"]).max() < 0.03
    assert np.abs(world[..., 1] - model["utm_y_m"]).max() < 0.03


def test_a_2d_stack_reads_as_a_section_once_its_spacing_is_given():
    v = read(SEGY / "31_81_PR.SGY", spacing=(33.5, 4.0))
    assert v.grid.shape == (534, 1501)


@pytest.mark.parametrize(
    "name", sorted(p.name for p in (ROOT / "models").glob("*.npz")) if ROOT.is_dir() else []
)
def test_every_model_is_read(name):
    v = read(ROOT / "models" / name, key="vp")
    raw = np.load(ROOT / "models" / name)
    assert np.array_equal(v.values, raw["vp"])
    assert v.grid.spacing == tuple(raw["spacing_m"])
