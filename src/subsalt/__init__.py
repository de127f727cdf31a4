"""Seismic imaging: reverse time migration of shots to a depth image, Kirchhoff migration of traces to a time image.

The public interface is `__all__`, with the modules `subsalt.analytic` (exact solutions), `subsalt.errors` and
`subsalt.view` (pictures). Everything else may move from one version to the next. Names are imported on first use, so
that ``import subsalt`` costs little more than NumPy.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from subsalt import _moved

# Threads that wait in a spin starve each other as soon as anything else runs: a 2-D step on two threads of a busy
# two-core machine took 150 times as long. Read when the OpenMP library is loaded, so it stands before every import.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__version__ = "0.9.0"

_HOME = {
    "EarthModel": "subsalt.earth.model",
    "Frame": "subsalt.earth.grid",
    "Grid": "subsalt.earth.grid",
    "Box": "subsalt.earth.grid",
    "Survey": "subsalt.acquisition.survey",
    "Shot": "subsalt.acquisition.survey",
    "TimeAxis": "subsalt.acquisition.survey",
    "Wavelet": "subsalt.acquisition.wavelet",
    "ricker": "subsalt.acquisition.wavelet",
    "ormsby": "subsalt.acquisition.wavelet",
    "Job": "subsalt.methods.rtm.job",
    "check_job": "subsalt.job.checking",
    "plan_job": "subsalt.plan",
    "migrate_job": "subsalt.run.migrate",
    "Topography": "subsalt.earth.topography",
    "PropagationOptions": "subsalt.propagation.options",
    "CheckpointOptions": "subsalt.checkpoint.options",
    "ImagingOptions": "subsalt.propagation.options",
    "forward": "subsalt.api",
    "migrate": "subsalt.api",
    "born": "subsalt.api",
    "born_adjoint": "subsalt.api",
    "rtm_operator": "subsalt.api",
    "dot_test": "subsalt.api",
    "migrate_time": "subsalt.methods.kirchhoff.migrate_arrays",
    "plot": "subsalt.plotting",
    "reimage": "subsalt.methods.rtm.notebook",
    "saved_wavefields": "subsalt.methods.rtm.notebook",
    "ImageGrid": "subsalt.acquisition.image_grid",
    "KirchhoffOptions": "subsalt.methods.kirchhoff.options",
    "ConstantVelocity": "subsalt.methods.kirchhoff.velocity.time_velocity",
    "VelocityFunction": "subsalt.methods.kirchhoff.velocity.time_velocity",
    "LineGeometry": "subsalt.io.prestack.positions",
    "TimeSlices": "subsalt.io.prestack.time_slices",
    "write_slices": "subsalt.io.prestack.time_slices",
    "open_traces": "subsalt.io.prestack.table",
    "open_volume": "subsalt.io.volumes.volume",
    "read_survey": "subsalt.io.segy.reading",
    "write_survey": "subsalt.io.segy.writing",
    "dense_source": "subsalt.propagation.dense",
    "make_example": "subsalt.examples",
}

__all__ = ["__version__", *sorted(_HOME)]

_moved.install()


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'subsalt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
