"""The source wavelet that is estimated is the one that was put in, and what cannot be estimated is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import subsalt
from subsalt.acquisition.source_shape import ShotFit, ShotSums, common_shape
from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.acquisition.wavelet import from_samples
from subsalt.analytic.uniform import isotropic_waveform
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.errors import DataError
from subsalt.io.segy.writing import write_survey
from subsalt.job.signal.designature import Designature
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.step import Headers
from subsalt.methods.rtm import wavelet_direct
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.wavelet_band import faded, first_minimum, mean_ratio, without_noise_below
from subsalt.methods.rtm.wavelet_direct import from_direct_waves
from subsalt.methods.rtm.wavelet_ghosts import Both, compared
from subsalt.methods.rtm.wavelet_job import (
    WaveletOptions,
    from_signature,
    from_spectrum,
    lines_for_job,
    write,
    write_samples,
)
from subsalt.methods.rtm.wavelet_pulse import of_reflections
from subsalt.numerics.filters import minimum_phase

V, DT, NT = 1500.0, 0.004, 220
SCALES = (1.0, 0.6, 1.4, 0.9, 1.2)
BANDPASS = {"step": "bandpass", "corners": [2, 5, 60, 90]}


def source():
    """Return a causal wavelet of 0.2 s, from 6 to 50 Hz, of an amplitude that no default has."""

    def amplitude(f):
        return np.exp(-(((f - 26.0) / 13.0) ** 2))

    taps = minimum_phase(amplitude, 50, DT).taps
    taps = taps * np.sin(0.5 * np.pi * np.minimum(1.0, np.arange(50, 0, -1) / 12)) ** 2
    return from_samples(370.0 * (taps - taps.mean()), DT)


def positions():
    """Return five shots and their receivers behind them, as a towed cable has them, (x, z)."""
    src = [(900.0 + 40.0 * k, 20.0) for k in range(len(SCALES))]
    rcv = [[(x - 100.0 - 25.0 * c, 30.0) for c in range(24)] for x, _ in src]
    return np.array(src), np.array(rcv)


def direct_waves(ndim, surface):
    """Return the survey with exact direct waves, scaled by shot, with the mirrored ones of a free surface."""
    src, rcv = positions()
    out = Survey.from_arrays(src, rcv, nt=NT, dt=DT)
    w = source().samples
    for shot, scale in zip(out.shots, SCALES, strict=True):
        # y of a line is zero: in three dimensions the same offsets
        axes = [0, 1, 2] if ndim == 3 else [0, 2]
        traces = isotropic_waveform((shot.rcv - shot.src)[:, axes], V, w, DT, NT)
        if surface:
            ghost = shot.rcv - shot.src * [1, 1, -1]
            traces -= isotropic_waveform(ghost[:, axes], V, w, DT, NT)
        shot.data = (scale * traces).astype(np.float32)
    return out


def spoiled(survey, noise=0.05):
    """Return the survey with noise, a part of the direct wave of a middle trace, dead, reversed and wild traces."""
    rng = np.random.default_rng(3)
    for shot in survey.shots:
        level = noise * np.abs(shot.data[12]).max()
        shot.data += (level * rng.standard_normal(shot.data.shape)).astype(np.float32)
        shot.data[3] = 0.0
        shot.data[7] *= -1.0
        shot.data[9] += (300 * level * rng.standard_normal(NT)).astype(np.float32)
    return survey


def swell(survey, share=0.2):
    """Return the survey with noise from 0.3 to 4 Hz in every trace, a part of the rms amplitude of its shot."""
    rng = np.random.default_rng(11)
    f = np.fft.rfftfreq(NT, DT)
    for shot in survey.shots:
        spectra = np.fft.rfft(rng.standard_normal(shot.data.shape))
        noise = np.fft.irfft(np.where((f >= 0.3) & (f <= 4.0), spectra, 0.0), NT)
        level = share * np.sqrt((shot.data**2).mean() / (noise**2).mean())
        shot.data += (level * noise).astype(np.float32)
    return survey


def job_of(folder, survey, *, surface=False, vp=V, signal=(), shots="all"):
    """Write the survey; return a job with it over a half space."""
    write_survey(folder / "shots.sgy", survey)
    return Job.from_dict(
        {
            "data": {
                "files": ["shots.sgy"],
                "line": "x",
                "shots": shots,
                "noisy_traces": "keep",
            },
            "model": {"vp": vp},
            "grid": {"spacing": 10.0, "origin": [0.0, 0.0], "shape": [121, 61]},
            "source": {"f0": 25},
            "propagation": {"free_surface": surface},
            **({"signal": list(signal)} if signal else {}),
        },
        folder,
        name="line",
    )


def shot_sums(job):
    """Return the sums of the shots of a job, of which the wavelet is made."""
    its = wavelet_direct._Survey(job, WaveletOptions())
    wavelet_direct._settle(its)
    return wavelet_direct._gathered(its, None)[0]


def likeness(made, wanted):
    """Return correlation and ratio of amplitudes of two wavelets on the samples of the first; outside they are zero."""
    t = made.wavelet.times()
    w = np.interp(t, wanted.times(), wanted.samples, left=0, right=0)
    a = made.wavelet.samples
    size = np.sqrt((wanted.samples**2).sum() * (a**2).sum())
    return float(a @ w / size), float(np.sqrt((a**2).sum() / (wanted.samples**2).sum()))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("surface", [False, True])
def test_the_wavelet_put_in_comes_out(tmp_path, ndim, surface):
    signal = [{"step": "to2d", "velocity": V}] if ndim == 3 else []
    job = job_of(tmp_path, direct_waves(ndim, surface), surface=surface, signal=signal)
    made = from_direct_waves(job, WaveletOptions())
    correlation, size = likeness(made, source())
    assert correlation > 0.999
    assert size == pytest.approx(np.median(SCALES), rel=0.01)
    assert [s.scale for s in made.shots] == pytest.approx(SCALES, rel=1e-3)
    assert made.to_dict()["residual"] < 0.03
    assert made.facts["first_break_velocity_m_per_s"] == pytest.approx(V, rel=0.03)


@pytest.mark.parametrize("ndim", [2, 3])
def test_noise_and_bad_traces_do_not_matter(tmp_path, ndim):
    signal = [{"step": "to2d", "velocity": V}] if ndim == 3 else []
    survey = spoiled(direct_waves(ndim, True))
    survey.shots[3].data *= -1.0
    job = job_of(tmp_path, survey, surface=True, signal=signal)
    made = from_direct_waves(job, WaveletOptions())
    assert likeness(made, source())[0] >= 0.995
    left = [s for s in made.shots if s.reason]
    assert [s.shot for s in left] == [survey.shots[3].id]
    assert "opposite polarity" in left[0].reason
    left_out = made.facts["traces_left_out"]
    assert left_out["dead"] == left_out["reversed"] == left_out["level"] == len(SCALES)


@pytest.mark.parametrize("surface", [False, True])
def test_it_models_the_direct_waves_of_the_program(tmp_path, surface):
    src, rcv = positions()
    grid = Grid((131, 61), (10.0, 10.0))
    survey = Survey.from_arrays(src[:2], rcv[:2, ::3], nt=NT, dt=DT)
    model = EarthModel(grid, np.full(grid.shape, V))
    modelled = subsalt.forward(model, survey, source(), free_surface=surface).survey
    made = from_direct_waves(job_of(tmp_path, modelled, surface=surface), WaveletOptions())
    correlation, size = likeness(made, source())
    assert correlation >= 0.995
    assert size == pytest.approx(1.0, rel=0.02)
    # and the file that is written is what [source] takes
    path = write(made, tmp_path / "wavelet.txt")
    taken = job_of(tmp_path, modelled).changed("source", wavelet="file", file=path.name).wavelet(0.001)
    assert taken.dt == pytest.approx(DT)
    assert taken.t0 == pytest.approx(made.wavelet.t0)
    assert taken.samples == pytest.approx(made.wavelet.samples, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_swell_stays_out_of_the_wavelet(tmp_path, ndim, share):
    signal = [{"step": "to2d", "velocity": V}] if ndim == 3 else []
    job = job_of(tmp_path, swell(direct_waves(ndim, True), share), surface=True, signal=signal)
    made = from_direct_waves(job, WaveletOptions())
    # W535 warns of a mean from 5 % on
    assert made.wavelet.mean_ratio < 1e-6
    # swell reaches 4 Hz, and windows of 0.15 s and more spread it by up to 7 Hz
    assert 0.5 < made.facts["low_cut_hz"] < 11.0
    shape = faded(common_shape(shot_sums(job))[0])
    rough = replace(made, wavelet=replace(made.wavelet, samples=shape))
    # what is left out is more noise than signal: less than half of the error is left
    assert 1.0 - likeness(made, source())[0] < 0.5 * (1.0 - likeness(rough, source())[0])


def test_a_mean_is_noise_as_well():
    w = source().samples
    bell = np.sin(np.pi * (np.arange(len(w)) + 0.5) / len(w)) ** 2
    spoiled = w + 0.08 * np.abs(w).max() * bell
    assert mean_ratio(spoiled) > 0.05
    made, low = without_noise_below(spoiled, DT)
    assert low == pytest.approx(first_minimum(spoiled, DT))
    assert mean_ratio(made) < 1e-12
    assert np.linalg.norm(made - w) < 0.5 * np.linalg.norm(spoiled - w)
    # done once is done
    again, nothing = without_noise_below(made, DT)
    assert nothing is None
    assert again is made


def test_a_wavelet_without_swell_is_left_as_it_is(tmp_path):
    for surface in (False, True):
        job = job_of(tmp_path, direct_waves(2, surface), surface=surface)
        assert from_direct_waves(job, WaveletOptions()).facts["low_cut_hz"] is None


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("said", [False, True])
def test_both_readings_of_the_ghosts_are_tried(tmp_path, ndim, surface, said):
    signal = [{"step": "to2d", "velocity": V}] if ndim == 3 else []
    survey = spoiled(swell(direct_waves(ndim, surface)), 0.02)
    made = from_direct_waves(job_of(tmp_path, survey, surface=said, signal=signal), WaveletOptions())
    ghosts = made.facts["ghosts"]
    assert ghosts["used"] is said
    assert ghosts["wanted"] is surface
    right, wrong = ("with_ghost", "without_ghost")[:: 1 if surface else -1]
    assert ghosts[right] < 0.7 * ghosts[wrong]
    lines = lines_for_job(tmp_path / "w.txt", job_of(tmp_path, survey, surface=not said), made)
    assert lines[3:] == ["[propagation]", f"free_surface = {str(said).lower()}"]


def test_noise_leaves_the_ghosts_open():
    fits = [ShotFit(1, 20, 1.0, 0.8, 0.6)]
    sums = [ShotSums(1, 20, np.array([1.0, 0.0]), np.array([0.7, 0.0]), 1.0)]
    # residuals 0.6 and sqrt(1 - 0.49): energies of 0.36 and 0.51 are no factor of two
    assert compared(fits, sums, used=False) == Both(pytest.approx(np.sqrt(0.51), rel=1e-3), 0.6, False, None)
    fewer = [replace(sums[0], traces=10, cross=np.array([0.99, 0.0]))]
    # a better fit of half the traces is none
    assert compared(fits, fewer, used=False).wanted is None
    assert compared(fits, [replace(fewer[0], traces=19)], used=False).wanted is True
    assert compared(fits, [], used=False) is None


def test_what_wavelet_writes_passes_the_check(tmp_path, subsalt_command):
    write_survey(tmp_path / "shots.sgy", swell(direct_waves(2, True)))
    job = tmp_path / "line.toml"
    common = (
        '[data]\nfiles = "shots.sgy"\nline = "x"\n[model]\nvp = 1500\n[grid]\nspacing = 5\norigin = [0, 0]\n'
        "shape = [241, 121]\n"
    )
    job.write_text(common + "[source]\nf0 = 25\n")
    code, out, err = subsalt_command("wavelet", job)
    assert code == 0, err
    assert "free_surface = true; set it, or use --free-surface" in " ".join(out.split())
    assert "designature" not in out
    job.write_text(common + "[source]\nf0 = 25\n[propagation]\nfree_surface = true\n")
    code, out, err = subsalt_command("wavelet", job, "--json")
    assert code == 0, err
    lines = json.loads(out)["job_lines"]
    job.write_text(common + "[propagation]\nfree_surface = true\n" + "\n".join(lines) + "\n")
    _, out, _ = subsalt_command("check", job, "--json")
    codes = {f["code"] for f in json.loads(out)["findings"] if f["level"] in ("warning", "error")}
    assert not codes & {"W535", "W536", "W357"}


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("surface", [False, True])
def test_the_pulse_of_reflections_becomes_zero_phase(tmp_path, ndim, surface):
    signal = [{"step": "to2d", "velocity": V}] if ndim == 3 else []
    job = job_of(tmp_path, direct_waves(ndim, surface), surface=surface, signal=signal)
    made = from_direct_waves(job, WaveletOptions())
    pulse = of_reflections(made.wavelet, made.facts)
    write_samples(pulse, "pulse", tmp_path / "pulse.txt")
    # a reflection from 300 m at offset zero: images of the source below the mirror, and above the surface
    axes = [0, 1, 2] if ndim == 3 else [0, 2]
    (_, zs), (_, zr) = positions()[0][0], positions()[1][0][0]
    trace = np.zeros((1, NT))
    for s, r in [(1, 1), (1, -1), (-1, 1), (-1, -1)] if surface else [(1, 1)]:
        way = np.array([[0.0, 0.0, 600.0 - s * zs - r * zr]])[:, axes]
        trace += s * r * isotropic_waveform(way, V, source().samples, DT, NT)
    time = TimeAxis(NT, DT)
    flow = Flow([Designature(step="designature", signature="pulse.txt")], time, lambda n, k: tmp_path / n)
    out = flow.apply(trace.astype(np.float32), Headers(np.zeros(1, np.int64), np.zeros(1)))[0]
    # times from the surface with ghosts, from source and receiver without
    at = (600.0 - (0.0 if surface else zs + zr)) / V / DT
    k = round(at)
    assert int(np.argmax(np.abs(out))) in (int(at), int(at) + 1)
    assert out[k] > 0
    # of zero phase: symmetric about the reflector, which lies off a sample, by a shift of its spectrum
    f = np.fft.rfft(out)
    centred = np.fft.irfft(f * np.exp(2j * np.pi * np.arange(len(f)) * at / NT), NT)
    odd = 0.5 * (centred - np.roll(centred[::-1], 1))
    # four ways of different length are not exactly two ghosts: a tenth of the amplitude, as 6 degrees would leave
    assert np.linalg.norm(odd) < 0.1 * np.linalg.norm(centred)
    # left as they are, the traces are far from it
    g = np.fft.rfft(trace[0])
    before = np.fft.irfft(g * np.exp(2j * np.pi * np.arange(len(g)) * at / NT), NT)
    odd = 0.5 * (before - np.roll(before[::-1], 1))
    assert np.linalg.norm(odd) > 0.3 * np.linalg.norm(before)


def test_filters_act_on_the_wavelet_and_mutes_do_not(tmp_path):
    mute = {"step": "mute", "velocity": 1000, "delay": 0.3}
    job = job_of(
        tmp_path,
        direct_waves(2, False),
        signal=[mute, BANDPASS, {"step": "gain", "kind": "power", "power": 2}],
    )
    made = from_direct_waves(job, WaveletOptions())
    assert likeness(made, source())[0] > 0.999
    assert made.facts["steps"] == []
    assert len(made.facts["filters"]) == 1
    assert len(made.facts["steps_left_out"]) == 2


def test_a_reflection_bounds_the_offsets(tmp_path):
    vp = {"z": [0, 200, 201, 600], "value": [V, V, 2200, 2400]}
    made = from_direct_waves(job_of(tmp_path, direct_waves(3, False), vp=vp), WaveletOptions(spreading="3d"))
    # 350 m of way through the water to its bottom and back: at 100 m of offset it comes 0.18 s after the direct wave
    assert made.wavelet.duration - made.wavelet.t0 < 0.18
    assert max(s.traces for s in made.shots) < 16


def test_a_signature_becomes_the_source_of_a_point(tmp_path):
    w = source()
    np.savetxt(tmp_path / "far.txt", np.stack([w.times(), w.samples], axis=1))
    job = job_of(tmp_path, direct_waves(2, False))
    made = from_signature(job, tmp_path / "far.txt")
    assert made.wavelet.samples == pytest.approx(4 * np.pi * w.samples, rel=1e-12)
    filtered = from_signature(
        job_of(tmp_path, direct_waves(2, False), signal=[BANDPASS]), tmp_path / "far.txt"
    )
    # the band lies around that of the signature
    assert likeness(filtered, w)[0] > 0.98
    long = np.zeros(NT + 10)
    long[5] = 1.0
    np.savetxt(tmp_path / "long.txt", np.stack([DT * np.arange(NT + 10), long], axis=1))
    with pytest.raises(DataError, match=r"0\.916 s long, the records 0\.876 s") as error:
        from_signature(job, tmp_path / "long.txt")
    assert error.value.code == "E855"


def test_a_spectrum_with_the_phase_of_the_source_is_the_source(tmp_path):
    job = job_of(tmp_path, direct_waves(3, False))
    wishes = WaveletOptions(spreading="3d", length=0.25)
    minimum, zero = from_spectrum(job, "minimum", wishes), from_spectrum(job, "zero", wishes)
    # smoothing over 3 Hz fills the low end, where the source has nothing
    assert likeness(minimum, source())[0] > 0.95
    assert zero.wavelet.samples == pytest.approx(zero.wavelet.samples[::-1])
    assert zero.wavelet.peak_time == pytest.approx(0.0, abs=1e-6)
    assert np.abs(zero.wavelet.samples).max() == 1.0


@pytest.mark.parametrize(
    ("wishes", "vp", "code", "says"),
    [
        (WaveletOptions(length=2.0), V, "E855", r"2 s is longer than the records, 0\.876 s"),
        (WaveletOptions(offsets=(2000.0, 3000.0)), V, "E856", "none of 5 shots has 3 traces.*100 to 675 m"),
        (
            WaveletOptions(),
            {"z": [0, 60, 61, 600], "value": [V, V, 2200, 2400]},
            "E856",
            "none of 5 shots has 3",
        ),
        (
            WaveletOptions(),
            {"z": [0, 110, 111, 600], "value": [V, V, 2200, 2400]},
            "E856",
            "alone for .* too short",
        ),
        (WaveletOptions(), 1900.0, "E857", r"move out with 1[45]\d\d m/s, .*is 1900 m/s"),
        (WaveletOptions(velocity=1100.0), V, "E857", "--velocity is 1100 m/s"),
    ],
)
def test_what_cannot_be_estimated_is_refused(tmp_path, wishes, vp, code, says):
    with pytest.raises(DataError, match=says) as error:
        from_direct_waves(job_of(tmp_path, direct_waves(3, False), vp=vp), replace(wishes, spreading="3d"))
    assert error.value.code == code


def test_shots_without_a_common_wavelet_are_refused(tmp_path):
    survey = direct_waves(3, False)
    rng = np.random.default_rng(1)
    for k, shot in enumerate(survey.shots):
        odd = rng.standard_normal(31)
        shot.data = np.apply_along_axis(np.convolve, 1, shot.data, odd)[:, 2 * k : NT + 2 * k].astype(
            np.float32
        )
    with pytest.raises(DataError, match="of 5 shots have one wavelet") as error:
        from_direct_waves(
            job_of(tmp_path, survey), WaveletOptions(spreading="3d", length=0.3, start=-0.1, velocity=V)
        )
    assert error.value.code == "E858"


def test_scales_and_shape_take_turns():
    rng = np.random.default_rng(0)
    w, sums = rng.standard_normal(12), []
    for k, scale in enumerate((1.0, 2.0, 0.5, 1.0)):
        g = rng.standard_normal((3, 20))
        d = np.stack([scale * np.convolve(w, row) for row in g])
        power = sum(np.correlate(row, row, "full")[19:31] for row in g)
        cross = sum(np.correlate(d[i], row, "valid") for i, row in enumerate(g))
        sums.append(ShotSums(k, 3, power, cross, float((d**2).sum())))
    shape, fits = common_shape(sums)
    assert np.corrcoef(shape, w)[0, 1] > 0.99999
    assert [f.scale for f in fits] == pytest.approx([1.0, 2.0, 0.5, 1.0], rel=1e-3)
    assert max(f.residual for f in fits) < 1e-2


def test_the_command(tmp_path, subsalt_command):
    write_survey(tmp_path / "shots.sgy", direct_waves(3, True))
    job = tmp_path / "line.toml"
    job.write_text(
        '[data]\nfiles = "shots.sgy"\nline = "x"\n[model]\nvp = 1500\n[grid]\nspacing = 10\norigin = [0, 0]\n'
        "shape = [121, 61]\n[source]\nf0 = 25\n"
    )
    code, out, err = subsalt_command(
        "wavelet", job, "--free-surface", "--spreading", "3d", "--offsets", "100:600", "--json"
    )
    assert code == 0, err
    result = json.loads(out)
    assert result["shots_used"] == len(SCALES)
    assert result["correlation"] > 0.999
    assert result["job_lines"][2] == 'file = "line.wavelet.txt"'
    assert result["time_lines"] == [
        "[[signal]]",
        'step = "designature"',
        'signature = "line.wavelet.pulse.txt"',
    ]
    assert (tmp_path / "line.wavelet.pulse.txt").is_file()
    assert (tmp_path / "line.wavelet.png").stat().st_size > 10_000
    for words, says in (
        (("--phase", "linear"), "zero or minimum"),
        (("--offsets", "900:100"), "NEAR:FAR"),
        (("--velocity", "-3"), "positive"),
        (("--phase", "zero", "--start", "0"), "direct waves"),
    ):
        code, _, err = subsalt_command("wavelet", job, *words)
        assert code == 2
        assert says in err
