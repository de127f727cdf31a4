from __future__ import annotations

import io

import numpy as np
import pytest

from subsalt.acquisition import wavelet
from subsalt.errors import ConfigError, DataError, MissingInputError


def test_ricker():
    w = wavelet.ricker(20.0, 1e-3)
    t = w.times()
    a = (np.pi * 20.0 * (t - 0.075)) ** 2
    # exp turns the rounding of its argument, at most 22.2 eps, into a relative error
    np.testing.assert_allclose(w.samples, (1 - 2 * a) * np.exp(-a), rtol=1e-13, atol=1e-18)
    assert w.nt == 151
    assert w.peak_time == 0.075
    assert w.fmax == 50.0
    assert abs(w.samples[0]) < 2e-8
    assert w.mean_ratio < 1e-8
    assert w.duration == pytest.approx(0.15)


def test_ricker_with_length_and_delay():
    w = wavelet.ricker(25.0, 2e-3, nt=500, delay=0.1)
    assert w.nt == 500
    assert int(np.argmax(w.samples)) == 50


def test_ormsby_is_a_trapezium():
    w = wavelet.ormsby(4, 8, 40, 60, 1e-3, delay=1.5)
    spectrum = np.abs(np.fft.rfft(w.samples, 8192))
    f = np.fft.rfftfreq(8192, 1e-3)
    flat = spectrum[(f > 9) & (f < 38)]
    # the taper of 0.75 s to 1.5 s smooths corners over about 1 Hz and leaves ripples of a percent
    assert np.ptp(flat) < 0.02 * flat.mean()
    assert spectrum[(f > 62)].max() < 0.02 * flat.mean()
    assert spectrum[f < 2].max() < 0.02 * flat.mean()
    middle = spectrum[np.argmin(np.abs(f - 50))]
    assert middle == pytest.approx(0.5 * flat.mean(), rel=0.03)
    assert w.samples.max() == pytest.approx(1.0)
    assert w.peak_time == 1.5
    assert (w.f0, w.fmax) == (24.0, 60.0)
    np.testing.assert_allclose(w.samples, w.samples[::-1], atol=1e-13)


def test_band_and_peak_are_found():
    w = wavelet.ricker(20.0, 1e-3)
    measured = wavelet.from_samples(w.samples, w.dt, t0=-0.01)
    # 302 frequencies up to 500 Hz: 1.7 Hz apart
    assert measured.f0 == pytest.approx(20.0, abs=1.7)
    assert measured.fmax == pytest.approx(50.0, abs=1.7)
    assert measured.peak_time == pytest.approx(0.065, abs=1e-6)


def test_peak_between_samples():
    dt = 2e-3
    t = np.arange(200) * dt - 0.1507
    a = (np.pi * 15 * t) ** 2
    w = wavelet.from_samples((1 - 2 * a) * np.exp(-a), dt)
    # the parabola misses a smooth peak by the fourth-order term only
    assert w.peak_time == pytest.approx(0.1507, abs=0.02 * dt)


def test_samples_are_protected_and_scaled():
    w = wavelet.ricker(20.0, 1e-3)
    with pytest.raises(ValueError):
        w.samples[0] = 1.0
    np.testing.assert_array_equal(w.scaled(3.0).samples, 3.0 * w.samples)
    assert w.scaled(3.0).peak_time == w.peak_time


@pytest.mark.parametrize(
    "call",
    [
        lambda: wavelet.ricker(0.0, 1e-3),
        lambda: wavelet.ricker(-5.0, 1e-3),
        lambda: wavelet.ricker(20.0, 0.0),
        lambda: wavelet.ricker(20.0, 0.03),
        lambda: wavelet.ricker(20.0, 1e-3, delay=float("inf")),
        lambda: wavelet.ricker(20.0, 1e-3, nt=1),
        lambda: wavelet.ricker(float("nan"), 1e-3),
        lambda: wavelet.ormsby(10, 5, 40, 60, 1e-3),
        lambda: wavelet.ormsby(0, 5, 40, 60, 1e-3),
        lambda: wavelet.ormsby(2, 5, 40, 60, 0.01),
    ],
)
def test_wrong_parameters(call):
    with pytest.raises(ConfigError):
        call()


@pytest.mark.parametrize("samples", [[0.0, 0.0, 0.0], [1.0, np.nan], [[1.0, 2.0]], [1.0]])
def test_wrong_samples(samples):
    with pytest.raises(DataError):
        wavelet.from_samples(samples, 1e-3)


def test_file_of_one_column(tmp_path):
    w = wavelet.ricker(20.0, 1e-3)
    path = tmp_path / "wavelet.txt"
    np.savetxt(path, w.samples, header="a Ricker wavelet")
    got = wavelet.from_file(path, dt=1e-3)
    np.testing.assert_array_equal(got.samples, w.samples)
    assert got.name == "wavelet.txt"
    assert wavelet.from_file(path, dt=1e-3, nt=100).nt == 100
    with pytest.raises(ConfigError, match="no dt"):
        wavelet.from_file(path)


def test_file_of_two_columns(tmp_path):
    w = wavelet.ricker(20.0, 4e-3)
    path = tmp_path / "wavelet.csv"
    np.savetxt(path, np.column_stack([w.times() - 0.02, w.samples]), delimiter=", ", fmt=("%.4f", "%.17g"))
    got = wavelet.from_file(path)
    assert got.dt == pytest.approx(4e-3)
    assert got.t0 == pytest.approx(-0.02)
    np.testing.assert_array_equal(got.samples, w.samples)
    with pytest.raises(DataError, match="job says"):
        wavelet.from_file(path, dt=2e-3)


def test_npy_file(tmp_path):
    w = wavelet.ricker(20.0, 1e-3)
    np.save(tmp_path / "w.npy", w.samples.astype(np.float32))
    got = wavelet.from_file(tmp_path / "w.npy", dt=1e-3)
    np.testing.assert_array_equal(got.samples, w.samples.astype(np.float32))


def test_wrong_files(tmp_path):
    with pytest.raises(MissingInputError):
        wavelet.from_file(tmp_path / "absent.txt", dt=1e-3)
    with pytest.raises(DataError, match="not a file"):
        wavelet.from_file(tmp_path, dt=1e-3)
    for name, content in {
        "empty.txt": b"",
        "words.txt": b"a Ricker\n",
        "ragged.txt": b"1 2\n3\n",
        "three.txt": b"1 2 3\n4 5 6\n",
        "irregular.txt": b"0 1\n0.1 2\n0.15 3\n",
        "milliseconds.txt": b"0 1\n4 2\n8 3\n",
        "binary.txt": b"\xff\xfe\x00\x81",
        "short.npy": b"\x93NU",
        "garbage.npy": b"no numpy file at all",
    }.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=name):
            wavelet.from_file(tmp_path / name, dt=1e-3)


def test_a_header_that_claims_too_much_takes_no_memory(tmp_path):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    )
    (tmp_path / "w.npy").write_bytes(buffer.getvalue() + bytes(800))
    with pytest.raises(DataError, match=r"w\.npy cannot be read"):
        wavelet.from_file(tmp_path / "w.npy", dt=1e-3)


def test_object_arrays_are_not_unpickled(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError):
        wavelet.from_file(tmp_path / "o.npy", dt=1e-3)


@pytest.mark.parametrize(
    "make",
    [lambda d: wavelet.ricker(20.0, 1e-3, delay=d), lambda d: wavelet.ormsby(4, 8, 40, 60, 1e-3, delay=d)],
)
def test_zero_phase_starts_before_time_zero_and_peaks_at_it(make):
    zero, late = make(0.0), make(None)
    assert zero.t0 < 0
    assert zero.t0 + zero.dt * int(np.argmax(zero.samples)) == pytest.approx(0.0, abs=1e-12)
    # the same wavelet, moved
    np.testing.assert_allclose(zero.samples.max(), late.samples.max(), rtol=1e-12)
    assert zero.nt == late.nt
