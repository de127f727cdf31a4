"""The jobs of the record: small, of every kind, each from its files to the hash of its image."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import segyio

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "mpi")]

from survey_jobs import LINE, VOLUME  # noqa: E402

import kirchhoff_jobs as kirchhoff  # noqa: E402
from subsalt.io.volumes import volume  # noqa: E402
from subsalt.job.base import read_job  # noqa: E402
from subsalt.methods.rtm.job import Job  # noqa: E402
from subsalt.methods.rtm.model_job import model_job  # noqa: E402
from subsalt.run.migrate import migrate_job  # noqa: E402

#: waves on the grid of the model
OWN = 'grid = "model"\n'
#: most rows are as jobs without these keys were up to 0.7: their bytes are those of then
TAYLOR = 'stencil = "taylor"\n' + OWN
#: velocity that grows with depth, below a line: waves have a depth axis that follows it
GROWS = "vp = { z = [40, 700], value = [1500, 4000] }\n"
GROWING_LINE = f"[model]\n{GROWS}" + LINE[LINE.index("[acquisition]") :].replace(", 0]", ", 20]").replace(
    "[61, 41]", "[61, 71]"
)
#: one spacing for all depths, as before a depth axis could follow the rock
EVEN = 'depth_axis = "uniform"\n'
GROWING_EVEN = "line in velocity that grows, evenly spaced"
#: what the surveys are recorded in, and where: the model is 10 m a point
SURVEYS = {
    name: f"{text}[propagation]\n{TAYLOR}"
    for name, text in {
        "line": LINE,
        "line below the surface": LINE.replace(", 0]", ", 20]"),
        "volume": VOLUME,
    }.items()
} | {
    "line in velocity that grows": GROWING_LINE,
    GROWING_EVEN: f"{GROWING_LINE}[propagation]\n{EVEN}",
}
SHAPES = {
    "line": [61, 41],
    "line below the surface": [61, 41],
    "volume": [31, 13, 25],
    "line in velocity that grows": [61, 71],
    GROWING_EVEN: [61, 71],
}
MEDIA = {
    "iso": "",
    "vti": "epsilon = 0.1\ndelta = 0.05\n",
    "tti": "epsilon = 0.1\ndelta = 0.05\ntheta = 20\n",
    "tti 3-D": "epsilon = 0.1\ndelta = 0.05\ntheta = 20\nphi = 30\n",
}
NEW = "[propagation]\nlayer = 6\n"
LAYER = f"[propagation]\n{TAYLOR}layer = 6\n"
CHECKPOINTS = {
    "store on disk": 'strategy = "store"\nplace = "disk"',
    "revolve": 'strategy = "revolve"\nplace = "memory"\nslots = 3',
    "revolve on disk": 'strategy = "revolve"\nplace = "both"\nslots = 2\ndisk_slots = 3\nblock = 2',
    "boundary": 'strategy = "boundary"\nplace = "memory"',
}
#: survey, medium and further tables of the migrations
MIGRATIONS = {
    "iso 2-D": ("line", "iso", LAYER),
    "vti 2-D": ("line", "vti", LAYER),
    "tti 2-D": ("line", "tti", LAYER),
    "iso 3-D": ("volume", "iso", LAYER),
    "vti 3-D": ("volume", "vti", LAYER),
    "tti 3-D": ("volume", "tti 3-D", LAYER),
    "iso 2-D, free surface": ("line below the surface", "iso", LAYER + "free_surface = true\n"),
    "vti 2-D, damping, order 4": (
        "line",
        "vti",
        '[propagation]\nboundary = "damping"\nlayer = 20\norder = 4\n' + TAYLOR,
    ),
    "vti 3-D, 16-bit model": ("volume", "vti", LAYER + 'model_storage = "u16"\n'),
    "iso 2-D, illumination by shot": (
        "line",
        "iso",
        LAYER + '[imaging]\nillumination = "shot"\nfilter = "laplacian"\naperture = 150\n',
    ),
    "vti 3-D, inverse scattering": (
        "volume",
        "vti",
        LAYER + '[imaging]\ncondition = "inverse-scattering"\nfilter = "laplacian"\naperture = 60\n',
    ),
    "iso 2-D, fitted stencil": ("line", "iso", NEW + OWN),
    "vti 3-D, fitted stencil": ("volume", "vti", NEW + OWN),
    "tti 3-D, fitted stencil": ("volume", "tti 3-D", NEW + OWN),
    "tti 2-D, fitted stencil of order 4": ("line", "tti", NEW + OWN + "order = 4\n"),
    "tti 2-D, waves on a grid of their own": ("line", "tti", NEW + "grid = 13\n"),
    "vti 3-D, waves on a grid of their own": ("volume", "vti", NEW),
    "iso 2-D, velocity that grows": ("line in velocity that grows", "iso", NEW),
    "iso 2-D, velocity that grows, evenly spaced": (GROWING_EVEN, "iso", NEW + EVEN),
    "tti 2-D, velocity that grows": ("line in velocity that grows", "tti", NEW),
    "tti 2-D, velocity that grows, evenly spaced": (GROWING_EVEN, "tti", NEW + EVEN),
    "tti 2-D, velocity that grows, free surface": (
        "line in velocity that grows",
        "tti",
        NEW + "free_surface = true\n",
    ),
    "tti 2-D, cross-correlation": ("line", "tti", LAYER + '[imaging]\ncondition = "cross-correlation"\n'),
}
#: the same migrations by other ways through memory and disk: the image must be that of the first name
OTHER_WAYS = {
    f"{name}, {way}": (name, f"[checkpoint]\n{keys}\n")
    for name in ("iso 2-D", "vti 2-D", "tti 3-D")
    for way, keys in CHECKPOINTS.items()
    # backwards in time the same numbers are rounded otherwise: a row of its own
    if way != "boundary"
}
BACKWARDS = {
    f"{n}, boundary": (n, f"[checkpoint]\n{CHECKPOINTS['boundary']}\n") for n in ("iso 2-D", "vti 3-D")
}

#: least-squares migrations: survey, medium and further tables
LEAST_SQUARES = {
    "lsrtm 2-D": ("line", "iso", LAYER + '[inversion]\niterations = 2\nprecondition = "illumination"\n'),
}
#: time migrations: the data, and tables of the job
GATHERS = {"gathers": "offset", "offset": {"first": 100, "last": 500, "step": 200}}
TIME_MIGRATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "kirchhoff 2-D, as they are": ("line", {"corners": None, "amplitude": "none", "antialias": "none"}),
    "kirchhoff 2.5-D": ("line", {"corners": None}),
    "kirchhoff 3-D": ("areal", {}),
    "kirchhoff 3-D, triangle": ("areal", {"antialias": "triangle"}),
    "kirchhoff 3-D, gathers": ("areal", GATHERS),
}


def digest(*arrays: np.ndarray) -> str:
    """Return the hash of the values of arrays, and of their shapes and types."""
    out = hashlib.sha256()
    for a in arrays:
        out.update(f"{a.dtype.str} {a.shape}".encode())
        out.update(np.ascontiguousarray(a).tobytes())
    return out.hexdigest()


def text_of(survey: str, medium: str, tables: str) -> str:
    """Return the job file of a migration in a uniform model, or in one whose velocity grows."""
    velocity = GROWS if "grows" in survey else "vp = 2000\n"
    return (
        '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n'
        f"[model]\n{velocity}{MEDIA[medium]}[output]\npictures = false\n"
        f"[grid]\nspacing = 10\nshape = {SHAPES[survey]}\n[source]\nf0 = {18 if survey == 'volume' else 15}\n{tables}"
    )


def image_of(job: Path, run: str = "") -> str:
    """Migrate a job file and return the hash of the image."""
    done = migrate_job(read_job(job), job.with_name(f"{job.stem}{run}.run"))
    return digest(volume.read(done.image).values)


class Jobs:
    """The jobs in a folder; surveys are modelled when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def survey(self, name: str) -> Path:
        """Return the folder of a survey, modelled."""
        folder = self.folder / name
        if not folder.exists():
            folder.mkdir()
            (folder / "model.toml").write_text(SURVEYS[name])
            model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
        return folder

    def job(self, name: str) -> Path:
        """Return the job file of a migration, its survey beside it."""
        survey, medium, tables = self._said(name)
        path = self.survey(survey) / f"{name.replace(' ', '_').replace(',', '')}.toml"
        path.write_text(text_of(survey, medium, tables))
        return path

    def _said(self, name: str) -> tuple[str, str, str]:
        if name in MIGRATIONS:
            return MIGRATIONS[name]
        plain, more = (OTHER_WAYS | BACKWARDS)[name]
        survey, medium, tables = MIGRATIONS[plain]
        return survey, medium, tables + more

    def image(self, name: str, run: str = "") -> str:
        """Migrate and return the hash of the image."""
        return image_of(self.job(name), run)

    def traces(self, name: str) -> str:
        """Return the hash of the samples of a modelled survey."""
        arrays = []
        for file in sorted((self.survey(name) / "shots").glob("*.sgy")):
            with segyio.open(file, ignore_geometry=True) as f:
                arrays.append(f.trace.raw[:])
        return digest(*arrays)

    def least_squares_image(self, name: str) -> str:
        """Migrate by least squares and return the hash of the image."""
        survey, medium, tables = LEAST_SQUARES[name]
        path = self.survey(survey) / f"{name.replace(' ', '_')}.toml"
        path.write_text(f'method = "lsrtm"\n{text_of(survey, medium, tables)}')
        return image_of(path)

    def time_image(self, name: str) -> str:
        """Migrate in time and return the hash of image or gathers."""
        data, keys = TIME_MIGRATIONS[name]
        folder = self.folder / name.replace(" ", "_").replace(",", "")
        folder.mkdir()
        (kirchhoff.line if data == "line" else kirchhoff.areal)(folder / "traces.sgy")
        tables = {"kirchhoff": keys, "output": {"formats": ["npz"]}}
        job = Job.from_toml(kirchhoff.write_job(folder, **tables))
        done = migrate_job(job, folder / "run")
        files = sorted(Path(done.run_dir).glob("*.npz"))
        assert files, "no image"
        arrays = []
        for file in files:
            with np.load(file) as npz:
                arrays += [npz[k] for k in sorted(npz.files) if npz[k].dtype.kind == "f"]
        return digest(*arrays)
