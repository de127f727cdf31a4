import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, DataError, MissingInputError
from subsalt.io.export import export, export_time, is_time_volume
from subsalt.io.volumes.rsf import open_rsf
from subsalt.io.volumes.time_image import TimeImageFile

TIME = TimeAxis(30, 0.004, 0.1)
NUMBERS = np.array([(i, j) for i in (10, 12) for j in (5, 6, 7)])
PLACES = np.array([(100.0 + 25 * j, 50.0 * i) for i, j in NUMBERS])
OFFSETS = np.array([100.0, 300.0])


@pytest.fixture
def run(tmp_path):
    """A run directory with an image and gathers, and their values (ni, nj, ...)."""
    folder = tmp_path / "a.run"
    folder.mkdir()
    values = np.random.default_rng(1).normal(size=(6, 2, 30)).astype(np.float32)
    for name, offsets, data in (
        ("image", np.zeros(1), values.mean(axis=1, keepdims=True)),
        ("gathers", OFFSETS, values),
    ):
        volume = TimeImageFile(TIME, PLACES, NUMBERS, np.arange(6), offsets, name.upper(), [])
        rows = volume.rows(0, data, np.ones((6, len(offsets)), np.int64))
        (folder / f"{name}.sgy").write_bytes(volume.head + rows.tobytes())
    return folder, values.reshape(2, 3, 2, 30)


def test_gathers_become_arrays_with_their_axes(run, tmp_path):
    folder, values = run
    made = export(folder, tmp_path / "g.npz", key="gathers")
    assert made["shape"] == [2, 3, 2, 30]
    with np.load(tmp_path / "g.npz") as z:
        np.testing.assert_array_equal(z["gathers"], values)
        np.testing.assert_array_equal(z["inline"], [10, 12])
        np.testing.assert_array_equal(z["crossline"], [5, 6, 7])
        np.testing.assert_array_equal(z["offset_m"], OFFSETS)
        np.testing.assert_allclose(z["time_s"], TIME.values(), atol=1e-12)
        np.testing.assert_allclose(z["xy_m"].reshape(-1, 2), PLACES)
    export(folder, tmp_path / "g.npy", key="gathers")
    np.testing.assert_array_equal(np.load(tmp_path / "g.npy"), values)


def test_the_image_becomes_rsf_with_line_numbers(run, tmp_path):
    folder, values = run
    export(folder, tmp_path / "i.rsf")
    header, planes = open_rsf(tmp_path / "i.rsf")
    assert [(a[0], a[1], a[2], a[3]) for a in header.axes] == [
        (30, 0.004, 0.1, "time"),
        (3, 1.0, 5.0, "crossline"),
        (2, 2.0, 10.0, "inline"),
    ]
    np.testing.assert_array_equal(planes.read(0, 2), values.mean(axis=2))


def test_segy_keeps_its_bytes_and_su_its_samples(run, tmp_path):
    folder, values = run
    export(folder / "gathers.sgy", tmp_path / "copy.sgy")
    assert (tmp_path / "copy.sgy").read_bytes() == (folder / "gathers.sgy").read_bytes()
    made = export(folder, tmp_path / "g.su", key="gathers")
    assert made["traces"] == 12
    raw = np.frombuffer((tmp_path / "g.su").read_bytes(), "<f4").reshape(12, -1)
    np.testing.assert_array_equal(raw[:, 60:], values.reshape(12, 30))


def test_what_cannot_be_exported_says_what_can(run, tmp_path):
    folder, _ = run
    with pytest.raises(DataError, match="in depth") as caught:
        export(folder, tmp_path / "a.vti")
    assert caught.value.code == "E835"
    with pytest.raises(MissingInputError, match="no hits") as caught:
        export(folder, tmp_path / "a.rsf", key="hits")
    assert "image, gathers" in caught.value.fix
    with pytest.raises(MissingInputError, match="no fold"):
        export(folder, tmp_path / "a.rsf", key="fold")
    with pytest.raises(ConfigError, match="has no key"):
        export(folder / "image.sgy", tmp_path / "a.rsf", key="image")
    with pytest.raises(ConfigError, match="has no unit"):
        export(folder, tmp_path / "a.rsf", unit="m/s")
    assert not list(tmp_path.glob("a.rsf*"))
    # one trace less: no rectangle
    data = (folder / "image.sgy").read_bytes()
    (folder / "short.sgy").write_bytes(data[: -(240 + 120)])
    assert is_time_volume(folder / "short.sgy")
    with pytest.raises(DataError, match="5 traces at 2 inlines and 3 crosslines"):
        export_time(folder / "short.sgy", tmp_path / "a.rsf")
