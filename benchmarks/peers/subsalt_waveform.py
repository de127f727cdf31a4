"""Our side of a waveform: `subsalt.forward`, from the model's files to that of the traces."""

from __future__ import annotations

import json
import time

import numpy as np
from protocol import serve
from waveform_case import DT, F0, Setting, offsets

import subsalt


class SubsaltShot:
    """A shot of one setting."""

    def __init__(self, name: str, variant: str) -> None:
        self.setting = setting = Setting(**json.loads(name))
        self.files = setting.write_model()
        self.about = {
            "peer": "subsalt",
            "version": subsalt.__version__,
            "points": int(np.prod(setting.shape)),
        }
        self.offsets = offsets(setting.medium)

    def round(self, out: str) -> float:
        """Model the shot; return the seconds from opening the model's files to having written the traces."""
        setting = self.setting
        survey = subsalt.Survey.from_arrays(
            [tuple(setting.source)], setting.source + self.offsets, nt=setting.samples, dt=DT
        )
        wavelet = subsalt.ricker(F0, DT / 4)
        begin = time.perf_counter()
        volumes = {
            name: np.fromfile(file, np.float32).reshape(setting.shape) for name, file in self.files.items()
        }
        model = subsalt.EarthModel(subsalt.Grid(setting.shape, (setting.spacing,) * 3), **volumes)
        made = subsalt.forward(
            model,
            survey,
            wavelet,
            order=setting.order,
            boundary="none",
            source_taper=None,
            device="cpu",
        )
        np.save(out, made.data[0])
        seconds = time.perf_counter() - begin
        self.about |= {"dt": made.dt, "point_steps": made.point_steps}
        return seconds

    def facts(self) -> dict[str, object]:
        """Return what the last round said."""
        return self.about | {"offsets": self.offsets.tolist()}


if __name__ == "__main__":
    serve(SubsaltShot)
