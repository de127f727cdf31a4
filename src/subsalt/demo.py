"""The demo: a small 3-D VTI salt survey, modelled to SEG-Y and migrated from those files, checked against the truth.

It goes the way every survey goes: job files, `model_job`, `migrate_job`. Then the image is judged twice: at the known
reflectors, and by its hash, which is recorded here.

Its model has VTI layers that dip, a salt body, and a flat reflector below it; built from formulas.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.errors import ConfigError, DemoFailure, Finding
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_text
from subsalt.io.volumes import volume
from subsalt.kernels import cpu
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import ModelResult, model_job
from subsalt.report import write as write_report
from subsalt.run.migrate import migrate_job
from subsalt.run.result import RunResult

#: 1500 x 1050 x 1275 m
GRID = Grid((101, 71, 86), (15.0, 15.0, 15.0))

SALT_CENTRE = (750.0, 525.0, 610.0)
SALT_AXES = (310.0, 260.0, 140.0)

Depth = Callable[[NDArray, NDArray], NDArray]


#: files that the demo writes into its folder
OURS = ("demo.json", "job.toml", "model.toml", "model", "shots", "run")


@dataclass(frozen=True)
class Reflector:
    """An interface with a known depth.

    Parameters
    ----------
    name : str
        For tables and pictures.
    depth : callable
        Depth in m as a function of x and y arrays, m.
    sign : int
        +1 where velocity rises across it, so that it images as a positive peak.
    where : tuple of float
        Local x, y around which its image is read, m.
    label : tuple of float
        x and depth of its name on the picture, m.
    """

    name: str
    depth: Depth
    sign: int
    where: tuple[tuple[float, float], ...]
    label: tuple[float, float] = (0.0, 0.0)


def _upper(x: NDArray, y: NDArray) -> NDArray:
    return 255.0 + 0.10 * (x - 750.0) + 0.0 * y


def _lower(x: NDArray, y: NDArray) -> NDArray:
    return 830.0 - 0.08 * (x - 750.0) + 0.06 * (y - 525.0)


def _salt_top(x: NDArray, y: NDArray) -> NDArray:
    r2 = ((x - SALT_CENTRE[0]) / SALT_AXES[0]) ** 2 + ((y - SALT_CENTRE[1]) / SALT_AXES[1]) ** 2
    with np.errstate(invalid="ignore"):  # nan beside the salt: there is no top
        return SALT_CENTRE[2] - SALT_AXES[2] * np.sqrt(1.0 - r2)


def _base(x: NDArray, y: NDArray) -> NDArray:
    return np.full(np.broadcast(x, y).shape, 1050.0)


REFLECTORS = (
    Reflector(
        "upper dipping layer",
        _upper,
        1,
        ((600.0, 525.0), (750.0, 450.0), (750.0, 600.0), (900.0, 525.0)),
        (330.0, 150.0),
    ),
    Reflector(
        "top of salt",
        _salt_top,
        1,
        ((690.0, 525.0), (750.0, 525.0), (810.0, 525.0), (750.0, 480.0)),
        (750.0, 425.0),
    ),
    Reflector(
        "lower dipping layer",
        _lower,
        1,
        ((225.0, 525.0), (300.0, 450.0), (1125.0, 525.0), (1200.0, 525.0)),
        (330.0, 910.0),
    ),
    Reflector(
        "flat reflector below salt",
        _base,
        1,
        ((690.0, 525.0), (750.0, 525.0), (810.0, 525.0), (750.0, 570.0)),
        (750.0, 1095.0),
    ),
)


def true_model() -> EarthModel:
    """Return the model in which the survey is shot: layers, salt, base."""
    x, y, z = np.meshgrid(*(GRID.axis(i) for i in range(3)), indexing="ij")
    vp = np.full(GRID.shape, 1800.0, dtype=np.float32)
    epsilon, delta = np.zeros_like(vp), np.zeros_like(vp)
    for depth, v, e, d in (
        (_upper, 2100.0, 0.10, 0.05),
        (_lower, 2450.0, 0.14, 0.07),
        (_base, 3400.0, 0.10, 0.05),
    ):
        below = z >= depth(x, y)
        vp[below], epsilon[below], delta[below] = v, e, d
    salt = in_salt()
    vp[salt], epsilon[salt], delta[salt] = 3800.0, 0.0, 0.0
    return EarthModel(GRID, vp, epsilon, delta)


def in_salt() -> NDArray[np.bool_]:
    """Return which points of the grid lie in the salt."""
    axes = np.meshgrid(*(GRID.axis(i) for i in range(3)), indexing="ij")
    r2 = sum(((a - c) / s) ** 2 for a, c, s in zip(axes, SALT_CENTRE, SALT_AXES, strict=True))
    return np.asarray(r2 <= 1.0)


F0 = 10.0
#: Gaussian smoothing of the migration model, m
SMOOTHING = 30.0
#: a reflector imaged further off than this many cells is a failure; the migration model is smoothed over two cells,
#: and moves the events by half a cell at most
MOST_CELLS_OFF = 1.5
#: shots along x and y of the whole demo, and of the quick one: one line of them over the middle of the salt
SHOTS, QUICK_SHOTS = (4, 4), (4, 1)
#: sha256 of the samples of the image, by numerics class and number of shots, made with the pinned packages
RECORDED = {
    ("fma", 16): "c1d8af2af36e519de9419671f758e4c41414101c02a78c140442f62346446267",
    ("fma", 4): "c69d1a9580b6fb3553b4ac3d600144368e6ddf69a0e9e8fe47232d7151e6750f",
}

MODEL_JOB = """\
# The survey of the demo: {count} shots over a patch of fixed receivers, modelled in the true model.
title = "demo survey"

[model]
vp = "model/vp_true.rsf"
epsilon = "model/epsilon.rsf"
delta = "model/delta.rsf"

[source]
f0 = {f0}

[acquisition]
shots = {{ first = [300, {y0}, 15], last = [1200, {y1}, 15], n = [{nx}, {ny}] }}
receivers = {{ first = [0, 0, 15], last = [1500, 1050, 15], n = [51, 36] }}
record_length = 1.25
dt = 0.004
files = "per-shot"
"""

MIGRATE_JOB = """\
# Migrate the demo survey: SEG-Y shots and model volumes in, a depth image out.
title = "demo: VTI salt"

[data]
files = ["shots/*.sgy"]
mute = {{ velocity = 1800, delay = 0.21, taper = 0.08 }}  # the direct wave

[model]
vp = "model/vp.rsf"
epsilon = "model/epsilon.rsf"
delta = "model/delta.rsf"

[source]
f0 = {f0}

[imaging]
filter = "laplacian"
top_mute = 120
"""


@dataclass(frozen=True)
class ImagedReflector:
    """A known reflector and where the image shows it.

    Parameters
    ----------
    name : str
        Name of the reflector.
    true_depth : float
        Mean over the places where it is read, m.
    imaged_depth : float
        `true_depth` + `error`, m.
    error : float
        Median of imaged minus true depth over these places, m.
    largest : float
        Largest absolute error of a place, m.
    """

    name: str
    true_depth: float
    imaged_depth: float
    error: float
    largest: float


def run_demo(
    out: Path,
    *,
    quick: bool = False,
    progress: Callable[..., None] | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Build, model, migrate and check the demo in `out`.

    Parameters
    ----------
    out : Path
        Gets ``job.toml``, ``shots/``, ``model/``, ``run/``. What is already finished there is not computed again.
    quick : bool
        One line of shots over the salt instead of four: what it lights is imaged well, the shallow layer less so.
    progress : callable, optional
        ``progress(done, total, message)``.
    say : callable
        Callback for lines of progress.

    Returns
    -------
    dict
        Reflectors with true and imaged depth in metres, seconds by phase, where everything is, the hash of the image
        and the findings about it.

    Raises
    ------
    DemoFailure
        When a reflector is imaged more than `MOST_CELLS_OFF` cells off; everything is written before.
    """
    shots = QUICK_SHOTS if quick else SHOTS
    out = make_folder(out)
    own.refuse_links(out, OURS, outermost=("run",))
    own.claim(out, ("model", "shots", "run"))
    truth = true_model()
    claim(out, truth, shots)
    make_folder(out / "model")
    write_models(truth, out / "model")
    publish_text(out / "model.toml", model_job_text(shots))
    publish_text(out / "job.toml", MIGRATE_JOB.format(f0=F0))
    nx, ny, nz = GRID.shape
    say(
        f"model      {nx} x {ny} x {nz} points at {GRID.spacing[0]:g} m, VTI, salt 3800 m/s   {out / 'model'}"
    )
    modelled = model_job(Job.from_toml(out / "model.toml"), out / "shots", progress)
    say(f"survey     {len(modelled.files)} shots as SEG-Y   {modelled.shots_dir}")
    result = migrate_job(Job.from_toml(out / "job.toml"), out / "run", progress)
    image = volume.read(result.image).values
    reflectors = [read_reflector(image, r) for r in REFLECTORS]
    job = Job.from_toml(out / "job.toml")
    pictures = draw(out / "run", image, truth, job, reflectors)
    write_report(out / "run")  # again, with the pictures that show the truth
    digest = hashlib.sha256(image.tobytes()).hexdigest()
    said = compare_hash(digest, shots)
    for line in [*lines(reflectors, modelled, result, pictures), f"{said.level:<11}{said.message}"]:
        say(line)
    judge(reflectors)
    return {
        "reflectors": [vars(f) for f in reflectors],
        "seconds": modelled.phases["wall"] + result.phases["wall"],
        "point_steps": modelled.point_steps + result.point_steps,
        "out": str(out),
        "job": str(out / "job.toml"),
        "pictures": [str(p) for p in pictures],
        "samples_sha256": digest,
        "findings": [vars(said)],
        **result.to_dict() | {"phases": {"modelling": modelled.phases, "migration": result.phases}},
    }


def model_job_text(shots: tuple[int, int] = SHOTS, f0: float = F0) -> str:
    """Return the job file that models the survey: so many shots along x and y, and the peak frequency in Hz."""
    y0, y1 = (225, 825) if shots[1] > 1 else (525, 525)
    return MODEL_JOB.format(f0=f0, count=shots[0] * shots[1], nx=shots[0], ny=shots[1], y0=y0, y1=y1)


def compare_hash(digest: str, shots: tuple[int, int]) -> Finding:
    """Compare the samples of the image with what is recorded for this numerics class.

    Notes
    -----
    Every instruction set of a class gives the same bits. The model is smoothed by SciPy, and another release of it may
    round otherwise: with other packages than the pinned ones a difference says little, so it is a warning.
    """
    recorded = RECORDED.get((str(cpu.describe()["class"]), shots[0] * shots[1]))
    if recorded is None:
        return Finding("I812", "ok", f"samples {digest[:16]}; none are recorded for this instruction set")
    if recorded == digest:
        return Finding("I812", "ok", f"samples {digest[:16]}, as recorded")
    return Finding(
        "W812",
        "warning",
        f"samples {digest[:16]} of the image differ from the recorded {recorded[:16]}",
        "make setup installs the packages it was recorded with; if they are those, please report it",
    )


def judge(reflectors: list[ImagedReflector]) -> None:
    """Refuse an image whose reflectors are not where they are known to be."""
    most = MOST_CELLS_OFF * GRID.spacing[2]
    wrong = [f for f in reflectors if not abs(f.error) <= most]
    if wrong:
        each = ", ".join(f"{f.name} by {f.error:+.1f} m" for f in wrong)
        raise DemoFailure(
            f"reflectors of the demo are imaged more than {most:g} m off: {each}",
            "run subsalt doctor; if it finds nothing wrong, please report this with its output",
        )


def claim(out: Path, truth: EarthModel, shots: tuple[int, int] = SHOTS) -> None:
    """Tie the folder to this demo's model and jobs, or refuse it before anything in it is touched.

    Raises
    ------
    ConfigError
        When the folder holds the demo of another version, or the whole one and the quick one is asked for.
    """
    digest = hashlib.sha256((model_job_text(shots) + MIGRATE_JOB + f"{F0} {SMOOTHING}").encode())
    for values in (truth.vp, truth.epsilon, truth.delta):
        digest.update(b"" if values is None else values.tobytes())
    note = out / "demo.json"
    if note.exists() and json.loads(note.read_text(encoding="utf-8")).get("demo") != digest.hexdigest():
        raise ConfigError(
            f"{out} holds the demo of another version or size",
            "choose another folder with --out",
            code="E811",
        )
    publish_text(note, json.dumps({"demo": digest.hexdigest()}) + "\n")


def write_models(truth: EarthModel, folder: Path) -> None:
    """Write the true velocity, Thomsen parameters, and the smoothed velocity of the migration as RSF."""
    assert truth.epsilon is not None
    assert truth.delta is not None
    sigma = [SMOOTHING / h for h in GRID.spacing]
    slowness = gaussian_filter(1.0 / truth.vp.astype(np.float64), sigma, mode="nearest")
    files = {"vp_true": truth.vp, "vp": 1.0 / slowness, "epsilon": truth.epsilon, "delta": truth.delta}
    for name, values in files.items():
        text = ["unit: m/s"] if name.startswith("vp") else []
        volume.write(
            folder / f"{name}.rsf", GRID, np.asarray(values, np.float32), truth.frame, text=text, name=name
        )


def read_reflector(image: NDArray[np.float32], reflector: Reflector) -> ImagedReflector:
    """Find the peak of the image near a known reflector at each of its places.

    Notes
    -----
    The largest sample of the reflector's sign within half a dominant wavelength of the true depth, refined by
    a parabola through it and its two neighbours.
    """
    dz = GRID.spacing[2]
    true_depths, depths = [], []
    for x, y in reflector.where:
        ix, iy = round(x / GRID.spacing[0]), round(y / GRID.spacing[1])
        at = np.array([ix * GRID.spacing[0]]), np.array([iy * GRID.spacing[1]])
        depth = float(reflector.depth(*at)[0])
        trace = reflector.sign * image[ix, iy].astype(np.float64)
        half = 0.5 * 2000.0 / F0
        lo, hi = max(1, int((depth - half) / dz)), min(len(trace) - 1, int((depth + half) / dz) + 1)
        k = lo + int(np.argmax(trace[lo:hi]))
        a, b, c = trace[k - 1], trace[k], trace[k + 1]
        shift = 0.5 * (a - c) / (a - 2 * b + c) if a - 2 * b + c < 0 else 0.0
        true_depths.append(depth)
        depths.append((k + shift) * dz)
    errors = np.array(depths) - np.array(true_depths)
    return ImagedReflector(
        reflector.name,
        float(np.mean(true_depths)),
        float(np.mean(true_depths) + np.median(errors)),
        float(np.median(errors)),
        float(np.abs(errors).max()),
    )


def draw(
    run: Path,
    image: NDArray[np.float32],
    truth: EarthModel,
    job: Job,
    reflectors: list[ImagedReflector],
) -> list[Path]:
    """Draw model, survey, image and errors on one page, and the pictures of the run again, through the salt."""
    from subsalt import view
    from subsalt.demo_picture import Demo, Reading, draw_demo
    from subsalt.methods.rtm.job_setup import survey_of

    x, y = GRID.axis(0), GRID.axis(1)
    readings = [
        Reading(
            r.name,
            np.broadcast_to(r.depth(x[:, None], y[None, :]), (len(x), len(y))),
            r.label,
            f.error,
            f.largest,
        )
        for r, f in zip(REFLECTORS, reflectors, strict=True)
    ]
    at, survey = (750.0, 525.0, 480.0), survey_of(job, truth)
    title, run_id = "demo: VTI salt, reverse time migration", job.run_id()
    most = MOST_CELLS_OFF * GRID.spacing[2]
    folder = make_folder(run / "pictures")
    page = draw_demo(
        Demo(truth, survey, image, readings, in_salt(), at, most),
        folder / "demo.png",
        title=title,
        run_id=run_id,
    )
    made = view.sections(
        image,
        GRID,
        folder / "image.png",
        survey=survey,
        at=at,
        reflectors=[{"name": r.name, "depth": r.depth} for r in readings],
        title=title,
        run_id=run_id,
    )
    return [page, *made.values()]


def lines(
    reflectors: list[ImagedReflector], modelled: ModelResult, result: RunResult, pictures: list[Path]
) -> list[str]:
    """Return the closing text of the demo."""
    out = ["", f"{'reflector':<28}{'true m':>9}{'imaged m':>10}{'off m':>8}{'worst m':>9}"]
    for f in reflectors:
        out.append(
            f"{f.name:<28}{f.true_depth:>9.1f}{f.imaged_depth:>10.1f}{f.error:>+8.1f}{f.largest:>9.1f}"
        )
    out += ["", f"{'phase':<28}{'seconds':>9}"]
    for name, part in (("modelling", modelled.phases), ("migration", result.phases)):
        out += [f"{name + ': ' + k:<28}{v:>9.2f}" for k, v in part.items() if k == "wall" or abs(v) >= 0.005]
    rate = (modelled.point_steps + result.point_steps) / 1e9
    out += [
        f"{'together':<28}{modelled.phases['wall'] + result.phases['wall']:>9.2f}   {rate:.1f} G point-steps",
        "",
        f"open       {pictures[0]}",
        f"report     {result.report}",
        f"image      {result.image}   sha256 {result.sha256[:16]}",
    ]
    return out
