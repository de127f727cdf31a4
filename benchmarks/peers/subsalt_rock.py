"""Our side of a shot in rock: `subsalt.forward`, from the model's files to that of the traces."""

from __future__ import annotations

import json
import time

import numpy as np
from protocol import serve
from rock_case import DT, F0, SAMPLES, Setting

import subsalt

#: a wave has 25 samples of the wavelet per shortest period
FINE = 4


class SubsaltShot:
    """A shot of one setting."""

    def __init__(self, name: str, variant: str) -> None:
        self.setting = setting = Setting(**json.loads(name))
        self.files = setting.write_model()
        self.about = {"peer": "subsalt", "version": subsalt.__version__}

    def round(self, out: str) -> float:
        """Model the shot; return the seconds from opening the model's files to having written the traces."""
        setting = self.setting
        survey = subsalt.Survey.from_arrays([tuple(setting.source)], setting.receivers, nt=SAMPLES, dt=DT)
        wavelet = subsalt.ricker(F0, DT / FINE)
        begin = time.perf_counter()
        volumes = {
            name: np.fromfile(file, np.float32).reshape(setting.shape) for name, file in self.files.items()
        }
        spacing = (setting.spacing,) * setting.ndim
        grid = subsalt.Grid(setting.shape, spacing, tuple(setting.box[:, 0]))
        options = {"device": "cpu", "source_taper": None} | (setting.options or {})
        made = subsalt.forward(
            subsalt.EarthModel(grid, **volumes), survey, wavelet, order=setting.order, **options
        )
        np.save(out, made.data[0])
        seconds = time.perf_counter() - begin
        self.about |= {"dt": made.dt, "point_steps": made.point_steps}
        return seconds

    def facts(self) -> dict[str, object]:
        """Return what the last round said."""
        return self.about


if __name__ == "__main__":
    serve(SubsaltShot)
