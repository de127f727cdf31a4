"""Contexts in which one thing is wrong, by the code of the rule that is to find it, and what rules say of them."""

import contextlib
import dataclasses

import numpy as np
from layouts import checkerboard, clip, context, finely_sampled, four_cables, salt, stacked

from subsalt import check
from subsalt.acquisition.line import GIVEN, JOB, NOBODY, fit_stations, line_facts
from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.check import SampledShot
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.planes import Parameter
from subsalt.errors import Finding, ModelError
from subsalt.kernels import cores
from subsalt.propagation.options import ImagingOptions, PropagationOptions


def findings(case):
    """Return all findings of a context."""
    return check.run_rules(case, check.load_rules())


def problems(case):
    """Return the findings that are not ok."""
    return [f for f in findings(case) if f.is_fault]


def with_survey(case, **changes):
    """Return the context with another survey, without traces."""
    return dataclasses.replace(case, survey=dataclasses.replace(case.survey, **changes), samples=[])


def moved(case, src=(0, 0, 0), rcv=(0, 0, 0), scale=1.0):
    """Return the context with all positions scaled, then moved."""
    shots = [
        dataclasses.replace(
            s, src=s.src * np.r_[scale, scale, 1] + src, rcv=s.rcv * np.r_[scale, scale, 1] + rcv
        )
        for s in case.survey.shots
    ]
    return with_survey(case, shots=shots)


def scaled_vp(factor, power=1.0):
    """Return a context whose vp stands in another unit."""
    case = context()
    raw = (factor * case.parameters["vp"].values.astype(np.float64) ** power).astype(np.float32)
    return dataclasses.replace(context(vp=raw), samples=case.samples)


def with_traces(change):
    """Return a context whose sampled traces were changed in place."""
    case = context()
    case.samples = [SampledShot(s.shot, change(s.data.copy())) for s in case.samples]
    return case


def raw_parameter(name, values, grid=None, **more):
    """Return a context without a model, with one parameter as read."""
    case = context(epsilon=0.2, delta=0.1)
    old = case.parameters[name]
    case.parameters[name] = Parameter(name, values, grid or old.grid, source=f"{name}.rsf", **more)
    return dataclasses.replace(case, model=None, samples=[])


def nan_epsilon():
    values = np.full((101, 81), 0.2, np.float32)
    values[3, 7] = np.nan
    return raw_parameter("epsilon", values)


def one_receiver_far_away():
    case = context()
    shots = list(case.survey.shots)
    rcv = shots[2].rcv.copy()
    rcv[5, 0] += 10_000
    shots[2] = dataclasses.replace(shots[2], rcv=rcv)
    return with_survey(case, shots=shots)


def swapped():
    case = context(shape=(61, 21, 41), h=20.0, f0=5.0, origin=(0.0, 5000.0, 0.0))
    shots = [dataclasses.replace(s, src=s.src[[1, 0, 2]], rcv=s.rcv[:, [1, 0, 2]]) for s in case.survey.shots]
    return with_survey(case, shots=shots)


def on_a_line(says, turn=0.0, aside=0.0):
    """Return a context with a line turned (radians) and moved (m) against its frame; its model varies along x."""
    across = 1.0 + 0.1 * np.linspace(0.0, 1.0, 101)[:, None]
    case = context(vp=(context().parameters["vp"].values * across).astype(np.float32))
    frame = Frame(5000.0, 9000.0, 0.4)
    x, y = frame.to_world(np.array([[0.0, aside, 0.0]]))[0, :2]
    true = Frame(x, y, 0.4 + turn)
    src = true.to_world(np.stack([s.src for s in case.survey.shots]))
    rcv = true.to_world(np.concatenate([s.rcv for s in case.survey.shots]))
    facts = line_facts(src, rcv, fit_stations(src, rcv), frame, says)
    return with_survey(case, frame=frame, notes={"line": facts})


def one_source_on_the_surface():
    """Return a context in which the first source lies on the free surface."""
    base = context(propagation=PropagationOptions(free_surface=True))
    first, *rest = base.survey.shots
    up = dataclasses.replace(first, src=first.src * np.array([1.0, 1.0, 0.0]))
    return with_survey(base, shots=[up, *rest])


def doubled_shot():
    case = context()
    shots = [*case.survey.shots, dataclasses.replace(case.survey.shots[0], id=99)]
    return with_survey(case, shots=shots)


def doubled_receiver():
    case = context()
    shots = [dataclasses.replace(s, rcv=np.concatenate([s.rcv, s.rcv[:1]])) for s in case.survey.shots]
    return with_survey(case, shots=shots)


def silent_shot():
    case = context()
    case.samples[1] = SampledShot(case.samples[1].shot, np.zeros_like(case.samples[1].data))
    return case


def late_context():
    case = context(shape=(401, 81), vp=2000.0)
    case.samples = [SampledShot(s.shot, np.roll(s.data, -int(0.35 / 0.004), axis=1)) for s in case.samples]
    return case


def high_data():
    case = context()
    rng = np.random.default_rng(0)
    case.samples = [
        SampledShot(s.shot, rng.standard_normal(s.data.shape).astype(np.float32)) for s in case.samples
    ]
    return case


def with_wavelet(**changes):
    case = context()
    return dataclasses.replace(case, wavelet=dataclasses.replace(case.wavelet, **changes), samples=[])


def loaded_wavelet():
    case = context()
    t = np.linspace(0, 1, 200)
    return dataclasses.replace(
        case, wavelet=Wavelet(np.exp(-(((t - 0.5) / 0.1) ** 2)), 0.005, 0.0, "hump", 5.0, 10.0)
    )


def with_options(**options):
    return context(propagation=PropagationOptions(**options))


def flipped():
    return context(vp=np.broadcast_to(3000.0 - 15.0 * np.arange(81), (101, 81)))


def turned():
    return context(vp=np.broadcast_to((1800.0 + 12.0 * np.arange(101))[:, None], (101, 81)))


def hole():
    v = np.full((101, 81), 2000.0)
    v[:30, :20] = 330.0
    return context(vp=v)


def fold(size, shape=(101, 81)):
    """Return angles that swing by `size` along the line, slowly."""
    return np.broadcast_to(size * np.sin(np.arange(shape[0]) / 8.0)[:, None], shape)


def tilted(shape=(101, 81), theta=0.0, unit=None, **angles):
    """Return a context with a tilt as a file gives it, in degrees; without a model where none can be built."""
    h, f0 = (10.0, 8.0) if len(shape) == 2 else (20.0, 5.0)
    case = context(shape, h=h, f0=f0, epsilon=0.2, delta=0.1)
    given = {"theta": theta} | angles
    volumes = {n: np.array(np.broadcast_to(v, shape), np.float32) for n, v in given.items()}
    grid = case.model.grid
    for name, values in volumes.items():
        case.parameters[name] = Parameter(name, values, grid, source=f"{name}.rsf", unit=unit)
    with contextlib.suppress(ModelError):
        radians = {n: np.deg2rad(v) for n, v in volumes.items()}
        case.model = dataclasses.replace(case.model, **radians)
    return case


def vti_asked(medium, **tilt):
    return context(epsilon=0.2, delta=0.1, propagation=PropagationOptions(medium=medium), **tilt)


def crooked():
    return with_survey(context(), notes={"line": {"misfit_max_m": 300.0}})


def packed_slow_node():
    """Return a context with 16-bit models and a node 30 times slower than the fastest."""
    vp = np.full((101, 81), 3000.0)
    vp[50, 40] = 100.0
    return context(vp=vp, propagation=PropagationOptions(model_storage="u16"))


MISTAKES = {
    "km/s": ("E412", lambda: scaled_vp(1e-3)),
    "s/m": ("E413", lambda: scaled_vp(1.0, -1.0)),
    "s/km": ("E413", lambda: scaled_vp(1e3, -1.0)),
    "s2/m2": ("E414", lambda: scaled_vp(1.0, -2.0)),
    "ft/s, nothing fast": ("W420", lambda: context(vp=np.linspace(1500, 2000, 81) / 0.3048)),
    "mm/s": ("E415", lambda: scaled_vp(1e3)),
    "ft/s": ("E416", lambda: context(vp=np.broadcast_to((1480 + 30.0 * np.arange(81)) / 0.3048, (101, 81)))),
    "odd velocity": ("W417", lambda: context(vp=np.broadcast_to(1800 + 110.0 * np.arange(81), (101, 81)))),
    "percent": ("E418", lambda: raw_parameter("epsilon", np.full((101, 81), 20.0))),
    "percent delta": ("E418", lambda: raw_parameter("delta", np.full((101, 81), 12.0))),
    "large delta": ("W419", lambda: context(epsilon=0.7, delta=0.6)),
    "grid in km": ("E440", lambda: context(h=0.01)),
    "grid too deep": ("W441", lambda: context(h=1000.0)),
    "spacings differ": (
        "W442",
        lambda: dataclasses.replace(context(), model=EarthModel(Grid((9, 9), (300.0, 10.0)), 2000.0)),
    ),
    "NaN": ("E410", nan_epsilon),
    "NaN in the tilt": ("E410", lambda: tilted(theta=np.where(fold(1.0) > 0.9, np.nan, fold(30.0)))),
    "zero velocity": ("E411", lambda: raw_parameter("vp", np.zeros((101, 81)))),
    "epsilon below -1/2": ("E411", lambda: raw_parameter("epsilon", np.full((101, 81), -0.6))),
    "shape": ("E401", lambda: raw_parameter("epsilon", np.zeros((101, 64)), Grid((101, 64), (10.0, 10.0)))),
    "spacing": ("E402", lambda: raw_parameter("epsilon", np.zeros((101, 81)), Grid((101, 81), (10.0, 12.5)))),
    "origin": (
        "E402",
        lambda: raw_parameter("epsilon", np.zeros((101, 81)), Grid((101, 81), (10.0, 10.0), (50.0, 0.0))),
    ),
    "dimensions": (
        "E403",
        lambda: raw_parameter("delta", np.zeros((9, 9, 9)), Grid((9, 9, 9), (1.0, 1.0, 1.0))),
    ),
    "axes": ("E404", lambda: raw_parameter("delta", np.zeros((81, 101)), Grid((81, 101), (10.0, 10.0)))),
    "frames": ("W405", None),
    "depth flipped": ("W443", flipped),
    "depth not last": ("W444", turned),
    "null value": ("W445", hole),
    "reader's finding": (
        "W499",
        lambda: raw_parameter(
            "vp", np.full((101, 81), 2000.0), findings=[Finding("W499", "warning", "odd", "correct it")]
        ),
    ),
    "line on volume": ("E329", lambda: with_survey(context(), ndim=3)),
    "no overlap": ("E330", lambda: moved(context(), (50_000, 0, 0), (50_000, 0, 0))),
    "scalar forgotten": ("E330", lambda: moved(context(origin=(2000.0, 0.0)), scale=100.0)),
    "x and y swapped": ("E330", swapped),
    "sources outside": ("E331", lambda: moved(context(), (400, 0, 0), (0, 0, 0))),
    "receiver 10 km away": ("E332", one_receiver_far_away),
    "line without an origin": ("E342", lambda: on_a_line(NOBODY)),
    "line across the model": ("E343", lambda: on_a_line(GIVEN, turn=0.3)),
    "line far beside the model": ("E343", lambda: on_a_line(JOB, aside=5000.0)),
    "line beside the model": ("W342", lambda: on_a_line(JOB, aside=100.0)),
    "sources in the air": ("E333", lambda: moved(context(), (0, 0, -20), (0, 0, 0))),
    "receivers in the air": ("E334", lambda: moved(context(), (0, 0, 0), (0, 0, -20))),
    "sources too deep": ("E335", lambda: moved(context(), (0, 0, 5000), (0, 0, 0))),
    "all on the free surface": (
        "E336",
        lambda: moved(context(propagation=PropagationOptions(free_surface=True)), (0, 0, -5), (0, 0, 0)),
    ),
    "one on the free surface": ("W336", one_source_on_the_surface),
    "four cables": ("W245", four_cables),
    "stacked section": ("E242", lambda: stacked(4)),
    "zero offset": ("W355", lambda: stacked(1)),
    "shot twice": ("W337", doubled_shot),
    "receiver twice": ("W338", doubled_receiver),
    "no receivers": (
        "E306",
        lambda: with_survey(
            context(), shots=[dataclasses.replace(s, rcv=np.zeros((0, 3))) for s in context().survey.shots]
        ),
    ),
    "crooked line": ("W339", crooked),
    "narrow aperture": (
        "W340",
        lambda: dataclasses.replace(context(), imaging=ImagingOptions(aperture=30.0)),
    ),
    "short record": ("W341", lambda: with_survey(context(), time=TimeAxis(51, 0.004))),
    "shallow model": ("W344", lambda: context(shape=(201, 21))),
    "minutes of record": ("E317", lambda: with_survey(context(modelling=True), time=TimeAxis(2501, 0.05))),
    "dt in ms": ("E280", lambda: with_survey(context(), time=TimeAxis(501, 4.0))),
    "dt in us/1000": ("W281", lambda: with_survey(context(), time=TimeAxis(501, 4e-6))),
    "dt in us/1000, from a header": ("E727", finely_sampled),
    "dead traces": (
        "W282",
        lambda: with_traces(lambda d: np.where(np.arange(len(d))[:, None] < 3, 0, d).astype("f4")),
    ),
    "silent shot": ("E283", silent_shot),
    "NaN samples": (
        "E284",
        lambda: with_traces(lambda d: np.where(np.arange(d.shape[1]) == 7, np.nan, d).astype("f4")),
    ),
    "IBM as IEEE": ("E285", lambda: with_traces(lambda d: d * np.float32(1e30))),
    "constant traces": (
        "W286",
        lambda: with_traces(lambda d: np.where(np.arange(len(d))[:, None] < 3, 5, d).astype("f4")),
    ),
    "clipped": ("W287", lambda: with_traces(clip)),
    "early energy": ("W288", late_context),
    "wavelet after the record": ("E289", lambda: with_wavelet(peak_time=9.0)),
    "dt above the bound": ("E501", lambda: with_options(dt=0.005)),
    "dt too near the bound for packed models": (
        "E501",
        lambda: with_options(dt=0.9999 * context().model.stable_dt(8), model_storage="u16"),
    ),
    "packed tilted model": (
        "E123",
        lambda: context(
            epsilon=0.2, delta=0.1, theta=30.0, propagation=PropagationOptions(model_storage="u16")
        ),
    ),
    "velocities too far apart to be packed": ("W123", packed_slow_node),
    "small dt": ("W502", lambda: with_options(dt=1e-4)),
    "tiny dt": ("E505", lambda: with_options(dt=1e-6)),
    "no boundary": ("W503", lambda: with_options(boundary="none")),
    "thin PML": ("W504", lambda: with_options(layer=4)),
    "thin damping": ("W504", lambda: with_options(boundary="damping", layer=12)),
    "delta above epsilon": ("W521", lambda: context(epsilon=0.1, delta=0.2)),
    "delta above epsilon, rejected": (
        "E520",
        lambda: context(epsilon=0.1, delta=0.2, propagation=PropagationOptions(anisotropy="reject")),
    ),
    "anisotropy ignored": (
        "W522",
        lambda: context(epsilon=0.1, delta=0.05, propagation=PropagationOptions(medium="isotropic")),
    ),
    "VTI without parameters": ("W523", lambda: with_options(medium="vti")),
    "epsilon alone": ("W524", lambda: context(epsilon=0.1)),
    "tilt in radians": ("E421", lambda: tilted(theta=fold(0.9))),
    "tilt in radians, declared degrees": ("W422", lambda: tilted(theta=fold(0.9), unit="deg")),
    "azimuth in radians": ("W422", lambda: tilted(shape=(41, 31, 41), theta=30.0, phi=2.5)),
    "tilt in degrees, declared radians": ("E423", lambda: tilted(theta=fold(np.degrees(40.0)), unit="rad")),
    "null value in the tilt": ("E424", lambda: tilted(theta=np.where(fold(1.0) > 0, -999.25, fold(30.0)))),
    "azimuth beyond a turn": ("E424", lambda: tilted(shape=(41, 31, 41), theta=30.0, phi=400.0)),
    "negative tilt in 3-D": ("W425", lambda: tilted(shape=(41, 31, 41), theta=-20.0)),
    "tilt beyond the horizontal": ("W425", lambda: tilted(theta=fold(60.0) + 40.0)),
    "tilt without anisotropy": ("W537", lambda: context(theta=30.0)),
    "tilt with anisotropy of zero": ("W537", lambda: context(epsilon=0.0, delta=0.0, theta=30.0)),
    "azimuth without tilt": ("W538", lambda: context(epsilon=0.2, delta=0.1, phi=30.0)),
    "azimuth in 2-D": ("E526", lambda: tilted(theta=30.0, phi=45.0)),
    "rough tilt": ("W539", lambda: tilted(theta=checkerboard(30.0))),
    "noisy tilt": ("W543", lambda: tilted(theta=checkerboard(4.0))),
    "slow mode as fast as P": (
        "W542",
        lambda: dataclasses.replace(
            tilted(theta=30.0), propagation=PropagationOptions(order=16, source_taper=None)
        ),
    ),
    "slow mode near a source that emits it": (
        "W542",
        lambda: dataclasses.replace(tilted(theta=30.0), propagation=PropagationOptions(source_taper=None)),
    ),
    "salt under the default condition": (
        "W547",
        lambda: context(shape=(121, 91), vp=salt(), f0=6.0, nt=601),
    ),
    "thin tilted model": ("W544", lambda: tilted(shape=(101, 24), theta=20.0)),
    "TTI without theta": ("E540", lambda: vti_asked("tti")),
    "tilt ignored": ("W541", lambda: vti_asked("vti", theta=30.0)),
    "too many threads": ("W705", lambda: with_options(threads=cores() + 1)),
    "dispersion": ("W530", lambda: context(f0=25.0)),
    "grid too coarse": ("E531", lambda: context(f0=60.0)),
    "f0 in mHz": ("W532", lambda: context(f0=0.2)),
    "f0 above Nyquist": ("E533", lambda: with_wavelet(f0=140.0, fmax=150.0)),
    "fmax above Nyquist": ("W534", lambda: with_wavelet(fmax=140.0)),
    "mean": ("W535", loaded_wavelet),
    "data above the band": ("W536", high_data),
}


def frames_differ():
    case = context(epsilon=0.2, delta=0.1)
    case.parameters["vp"].frame = Frame(0.0, 0.0)
    case.parameters["delta"].frame = Frame(100.0, 0.0)
    return case


MISTAKES["frames"] = ("W405", frames_differ)


#: codes whose message has no number: a word of the job is missing or of no effect
NO_NUMBER = ("W405", "W522", "W523", "W524", "W503", "W499", "W538", "E540", "W541")
