"""The noise of the traces of a job, where it is estimated: above the band of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt.errors import ConfigError
from subsalt.inversion.noise import CODE, AboveBand

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.flow import ModelledFlow
    from subsalt.methods.lsrtm.job import LeastSquaresJob

#: steps that leave less above the band of the source than there was, or another part of it in each sample
CUTS = ("bandpass", "resample", "to2d", "designature")
#: time step at which the wavelet is looked at, s: fine enough for its band
FINE = 1e-3


def noise_of_job(job: LeastSquaresJob, flow: ModelledFlow) -> AboveBand | None:
    """Return what estimates the noise of traces behind all steps; None where the job names no estimate.

    Raises
    ------
    ConfigError
        E899: a step changes the spectrum of noise, or the traces have nothing above the band of the source.
    """
    name = job.inversion_options.noise_estimate
    if name is None:
        return None
    if wrong := [step for step in flow.steps if step in CUTS]:
        raise ConfigError(
            f'[inversion] noise = "{name}": {wrong[0]} of [[signal]] changes what traces have above the band of the '
            "source",
            "give the noise over the data as a number, such as noise = 0.2",
            code=CODE,
        )
    record = flow.record
    return AboveBand(record.nt, record.dt, job.wavelet(min(record.dt, FINE)).fmax)
