"""Seismic imaging: reverse time migration of shots to a depth image, Kirchhoff migration of traces to a time image.

Model a shot over a reflector, migrate it, look at the image::

    import numpy as np
    import subsalt

    grid = subsalt.Grid((301, 151), (10.0, 10.0))  # x and z: 3 km by 1.5 km
    vp = np.full(grid.shape, 2000.0)
    vp[:, 80:] = 2600.0
    survey = subsalt.Survey.from_arrays([(1500.0, 20.0)], [(x, 20.0) for x in range(0, 3001, 20)], nt=501, dt=0.004)
    wavelet = subsalt.ricker(f0=15, dt=0.001)
    shots = subsalt.forward(subsalt.EarthModel(grid, vp), survey, wavelet).survey
    result = subsalt.migrate(subsalt.EarthModel(grid, 2000.0), shots, wavelet, top_mute=300.0)
    subsalt.plot(result, survey=survey)

Lengths are in metres, times in seconds, velocities in m/s; depth grows downwards. ``help(subsalt.migrate)`` describes
every option. The public names:

Earth and survey
    `Grid`, `EarthModel`, `Survey`, `Shot`, `TimeAxis`, `Wavelet`, `ricker`, `ormsby`
Model, migrate, plot
    `forward`, `migrate`, `lsrtm`, `migrate_time`, `plot`
Files
    `read_survey`, `write_survey`, `open_volume`, `open_traces`, `make_example`
Jobs and runs
    `Job`, `check_job`, `plan_job`, `migrate_job`, `reimage`, `saved_wavefields`
Linear operators
    `born`, `born_adjoint`, `rtm_operator`, `born_operator`, `point_spread`, `dot_test`
Options
    `PropagationOptions`, `ImagingOptions`, `GatherOptions`, `CheckpointOptions`, `LeastSquaresOptions`,
    `KirchhoffOptions`
Time migration
    `ImageGrid`, `ConstantVelocity`, `VelocityFunction`, `LineGeometry`
Further
    `Frame`, `Box`, `Topography`, `TimeSlices`, `write_slices`, `dense_source`

These names and the modules `subsalt.analytic` (exact solutions), `subsalt.errors`, `subsalt.view` (pictures as files),
`subsalt.notebook` (progress and player in Jupyter) and `subsalt.torch` (functions on tensors) are the public interface.
Everything else may move from one version to the next. A name is imported when it is
first used.
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

#: where each public name is, by topic; `__init__.pyi` says the same to editors
_HOME = {
    # the earth and the survey
    "Grid": "subsalt.earth.grid",
    "EarthModel": "subsalt.earth.model",
    "Survey": "subsalt.acquisition.survey",
    "Shot": "subsalt.acquisition.survey",
    "TimeAxis": "subsalt.acquisition.survey",
    "Wavelet": "subsalt.acquisition.wavelet",
    "ricker": "subsalt.acquisition.wavelet",
    "ormsby": "subsalt.acquisition.wavelet",
    # model and migrate
    "forward": "subsalt.api",
    "migrate": "subsalt.api",
    "lsrtm": "subsalt.least_squares",
    "migrate_time": "subsalt.methods.kirchhoff.migrate_arrays",
    "plot": "subsalt.plotting",
    # files
    "read_survey": "subsalt.io.segy.reading",
    "write_survey": "subsalt.io.segy.writing",
    "open_volume": "subsalt.io.volumes.volume",
    "open_traces": "subsalt.io.prestack.table",
    "make_example": "subsalt.examples",
    # jobs and runs
    "Job": "subsalt.methods.rtm.job",
    "check_job": "subsalt.job.checking",
    "plan_job": "subsalt.plan",
    "migrate_job": "subsalt.run.migrate",
    "reimage": "subsalt.methods.rtm.notebook",
    "saved_wavefields": "subsalt.methods.rtm.notebook",
    # linear operators
    "born": "subsalt.api",
    "born_adjoint": "subsalt.api",
    "rtm_operator": "subsalt.api",
    "born_operator": "subsalt.methods.lsrtm.operator",
    "point_spread": "subsalt.methods.lsrtm.point_spread",
    "dot_test": "subsalt.api",
    # options
    "PropagationOptions": "subsalt.propagation.options",
    "ImagingOptions": "subsalt.propagation.options",
    "GatherOptions": "subsalt.propagation.options",
    "CheckpointOptions": "subsalt.checkpoint.options",
    "LeastSquaresOptions": "subsalt.inversion.options",
    "KirchhoffOptions": "subsalt.methods.kirchhoff.options",
    # time migration
    "ImageGrid": "subsalt.acquisition.image_grid",
    "ConstantVelocity": "subsalt.methods.kirchhoff.velocity.time_velocity",
    "VelocityFunction": "subsalt.methods.kirchhoff.velocity.time_velocity",
    "LineGeometry": "subsalt.io.prestack.positions",
    # more
    "Frame": "subsalt.earth.grid",
    "Box": "subsalt.earth.grid",
    "Topography": "subsalt.earth.topography",
    "TimeSlices": "subsalt.io.prestack.time_slices",
    "write_slices": "subsalt.io.prestack.time_slices",
    "dense_source": "subsalt.propagation.dense",
}

__all__ = ["__version__", *_HOME]

_moved.install()


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from subsalt import errors, host

        if missing := host.missing_instructions():
            raise errors.processor_too_old(missing)
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'subsalt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
