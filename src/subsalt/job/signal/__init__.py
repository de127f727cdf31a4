"""`[[signal]]`: steps on the traces before they are imaged, in the order written, the same for every method.

A step is a file of this folder: a table of keys and the operator that it makes (`subsalt.job.signal.step`), and a line
here.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.designature import Designature
from subsalt.job.signal.edit import Edit
from subsalt.job.signal.gain import Gain
from subsalt.job.signal.mute import Mute
from subsalt.job.signal.resample import Resample
from subsalt.job.signal.shift import Shift
from subsalt.job.signal.step import Step
from subsalt.job.signal.swell import Swell
from subsalt.job.signal.to2d import To2d

#: every step, by the value of its key `step`
STEPS: dict[str, type[Step]] = {
    "bandpass": Bandpass,
    "mute": Mute,
    "gain": Gain,
    "to2d": To2d,
    "edit": Edit,
    "shift": Shift,
    "resample": Resample,
    "designature": Designature,
    "swell": Swell,
}

#: one table of `[[signal]]`
AnyStep = Annotated[
    Bandpass | Mute | Gain | To2d | Edit | Shift | Resample | Designature | Swell, Field(discriminator="step")
]
