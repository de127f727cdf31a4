"""A 3-D VTI survey over salt: the first shots of the demo, modelled here."""

from __future__ import annotations

from pathlib import Path

from subsalt.demo import F0, GRID, model_job_text, true_model, write_models
from subsalt.examples.example import Example
from subsalt.io.publish import make_folder, publish_text
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job

ALONG, ACROSS = 3, 3


def make(folder: Path, shots: int) -> None:
    """Write models into a folder that is there, and model the shots."""
    write_models(true_model(), make_folder(folder / "model"))
    publish_text(folder / "model.toml", model_job_text((ALONG, ACROSS)))
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")


EXAMPLE = Example(
    summary="a 3-D VTI survey over a salt body",
    make=make,
    shots=ALONG * ACROSS,
    most=ALONG * ACROSS,
    files={
        "shots": "9 shots over 51 x 36 receivers, 1.25 s at 4 ms, one SEG-Y file each",
        "model": "vp.rsf (smoothed), epsilon.rsf, delta.rsf for the migration; vp_true.rsf is the model of the shots",
        "model.toml": "the job that modelled the shots",
    },
    truth=f"salt of 3800 m/s with its top at 480 m in the middle; the model has {GRID.spacing[0]:g} m cells and "
    f"the source is a Ricker wavelet of {F0:g} Hz",
    commands=(
        "subsalt scan shots/*.sgy",
        "subsalt init line.toml --from 'shots/*.sgy' --vp model/vp.rsf --epsilon model/epsilon.rsf "
        "--delta model/delta.rsf --f0 10",
        "subsalt check line.toml",
        "subsalt migrate line.toml",
    ),
)
