"""What a finished run writes: the image in the asked-for formats, its illumination, and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt import __version__
from subsalt.imaging.setup import MigrationSetup
from subsalt.io import volume
from subsalt.io.publish import make_folder, sha256_file
from subsalt.survey import Survey
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.job.job import Job

SUFFIX = {
    "segy": ".sgy",
    "rsf": ".rsf",
    "npy": ".npy",
    "npz": ".npz",
    "vti": ".vti",
    "nc": ".nc",
    "zarr": ".zarr",
}


@dataclass
class Written:
    """Files of a finished run."""

    image: Path
    sha256: str
    files: list[Path] = field(default_factory=list)


def write_outputs(
    job: Job,
    setup: MigrationSetup,
    survey: Survey,
    folder: Path,
    run_id: str,
    image: NDArray[np.float32],
    illumination: NDArray[np.float32] | None,
    clock: Phases,
) -> Written:
    """Write image and illumination; then pictures, when the job asks for them.

    Parameters
    ----------
    folder : Path
        Run directory.
    run_id : str
        Hash of job and inputs; stands in the headers.
    image, illumination : ndarray, model shape
        What the run made.

    Notes
    -----
    The image file depends on job and inputs alone: not on time, host, path, threads, or on how often the run
    was stopped.
    """
    model = setup.model
    meta = provenance_of(setup, survey, run_id)
    written = []
    with clock("output"):
        formats = list(dict.fromkeys(["segy", *job.output.formats]))
        for name in formats:
            path = folder / f"image{SUFFIX[name]}"
            volume.write(path, model.grid, image, model.frame, meta, name="image")
            written.append(path)
        if illumination is not None:
            path = folder / "illumination.rsf"
            volume.write(path, model.grid, illumination, model.frame, meta, name="illumination")
            written.append(path)
        first = written[0]
        sha = sha256_file(first)
    if job.output.pictures:
        with clock("pictures"):
            written += draw(job, setup, survey, make_folder(folder / "pictures"), run_id, image)
    return Written(first, sha, written)


def provenance_of(setup: MigrationSetup, survey: Survey, run_id: str) -> dict[str, str]:
    """Return what made the image, for the headers of its files: no time, host or path."""
    p, i = setup.propagation, setup.imaging
    layer = f"{p.boundary} {p.layer_cells} cells" if p.boundary != "none" else "no absorbing layer"
    return {
        "made_by": f"subsalt {__version__}, reverse time migration",
        "run": run_id[:24],
        "medium": f"{setup.model.medium}, order {p.order}, dt {setup.axis.dt * 1e3:.6f} ms",
        "boundary": f"{layer}, {'free surface' if p.free_surface else 'absorbing top'}",
        "time_dispersion": "corrected" if p.time_dispersion else "as is",
        "imaging": f"{i.mode}, {i.condition}, filter {i.filter}, step {setup.image_step}",
        "shots": str(len(survey)),
        "wavelet": setup.wavelet.name,
    }


def draw(
    job: Job, setup: MigrationSetup, survey: Survey, folder: Path, run_id: str, image: NDArray[np.float32]
) -> list[Path]:
    """Draw the sections with velocity and acquisition, and the survey map."""
    from subsalt import view

    model = setup.model
    out = list(
        view.sections(
            image,
            model.grid,
            folder / "image.png",
            model=model,
            survey=survey,
            frame=model.frame,
            title=job.title or job.name,
            run_id=run_id,
        ).values()
    )
    out.append(view.survey_map(survey, model, folder / "survey_map.png", run_id=run_id))
    return out
