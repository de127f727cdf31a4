# The public names, for editors: at run time they are imported when they are first used (`__init__.py`).
# mypy, which sees the whole package at once, takes them as they come: it would read all modules as one circle.
from typing import Any

__version__: str
__all__: list[str]

MYPY = False

if not MYPY:
    from subsalt.acquisition.image_grid import ImageGrid as ImageGrid
    from subsalt.acquisition.survey import Shot as Shot
    from subsalt.acquisition.survey import Survey as Survey
    from subsalt.acquisition.survey import TimeAxis as TimeAxis
    from subsalt.acquisition.wavelet import Wavelet as Wavelet
    from subsalt.acquisition.wavelet import ormsby as ormsby
    from subsalt.acquisition.wavelet import ricker as ricker
    from subsalt.api import born as born
    from subsalt.api import born_adjoint as born_adjoint
    from subsalt.api import dot_test as dot_test
    from subsalt.api import forward as forward
    from subsalt.api import migrate as migrate
    from subsalt.api import rtm_operator as rtm_operator
    from subsalt.checkpoint.options import CheckpointOptions as CheckpointOptions
    from subsalt.earth.grid import Box as Box
    from subsalt.earth.grid import Frame as Frame
    from subsalt.earth.grid import Grid as Grid
    from subsalt.earth.model import EarthModel as EarthModel
    from subsalt.earth.topography import Topography as Topography
    from subsalt.examples import make_example as make_example
    from subsalt.inversion.options import LeastSquaresOptions as LeastSquaresOptions
    from subsalt.io.prestack.positions import LineGeometry as LineGeometry
    from subsalt.io.prestack.table import open_traces as open_traces
    from subsalt.io.prestack.time_slices import TimeSlices as TimeSlices
    from subsalt.io.prestack.time_slices import write_slices as write_slices
    from subsalt.io.segy.reading import read_survey as read_survey
    from subsalt.io.segy.writing import write_survey as write_survey
    from subsalt.io.volumes.volume import open_volume as open_volume
    from subsalt.job.checking import check_job as check_job
    from subsalt.least_squares import lsrtm as lsrtm
    from subsalt.methods.kirchhoff.migrate_arrays import migrate_time as migrate_time
    from subsalt.methods.kirchhoff.options import KirchhoffOptions as KirchhoffOptions
    from subsalt.methods.kirchhoff.velocity.time_velocity import ConstantVelocity as ConstantVelocity
    from subsalt.methods.kirchhoff.velocity.time_velocity import VelocityFunction as VelocityFunction
    from subsalt.methods.lsrtm.operator import born_operator as born_operator
    from subsalt.methods.lsrtm.point_spread import point_spread as point_spread
    from subsalt.methods.rtm.job import Job as Job
    from subsalt.methods.rtm.notebook import reimage as reimage
    from subsalt.methods.rtm.notebook import saved_wavefields as saved_wavefields
    from subsalt.plan import plan_job as plan_job
    from subsalt.plotting import plot as plot
    from subsalt.propagation.dense import dense_source as dense_source
    from subsalt.propagation.options import GatherOptions as GatherOptions
    from subsalt.propagation.options import ImagingOptions as ImagingOptions
    from subsalt.propagation.options import PropagationOptions as PropagationOptions
    from subsalt.run.migrate import migrate_job as migrate_job

def __getattr__(name: str) -> Any: ...
