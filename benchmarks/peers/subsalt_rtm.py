"""Our side of a migration: `subsalt.migrate`, setup included; and the traces both sides migrate.

``subsalt_rtm.py CASE VARIANT``: ``every`` images every k-th step as the peer does, ``own`` as often as the Nyquist
rule of `ImagingOptions.image_step` asks for; ``damping`` is ``every`` with the layer of the peer; ``within-MB`` is
``every`` with snapshots and states in that many megabytes, the rest being computed again. `@reference` appended runs
the NumPy kernels.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import earth
import numpy as np
from cases import Case, parse
from protocol import serve

import subsalt
from subsalt import kernels
from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.io.tile_cache import remember_tiles
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.engine import migrate_shot
from subsalt.methods.rtm.image_sum import ImageSum
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions


def survey_of(case: Case) -> subsalt.Survey:
    """Return one shot, sampled at the time step."""
    source, receivers = earth.points_of_shot(case)
    h = case.spacing
    return subsalt.Survey.from_arrays(
        np.array([source]) * h, receivers * h, nt=case.steps, dt=earth.time_step(case)
    )


def scheme_within(limit: int, steps: int, image_step: int, state: int, snapshot: int) -> Scheme:
    """Return the scheme in memory that takes fewest steps with blocks and slots in `limit` bytes."""
    schemes = []
    for block in range(1, steps // image_step + 1):
        slots = (limit - block * snapshot) // state
        blocks = -(-(steps // image_step + 1) // block)
        if slots < 1:
            break
        schemes.append(
            Scheme("revolve", steps, image_step, block=block, memory_slots=min(slots, max(1, blocks - 1)))
        )
    if not schemes:
        raise SystemExit(f"{limit / 1e6:.0f} MB do not hold a state and a snapshot")
    return min(schemes, key=lambda s: counts_of(s).source_steps)


class SubsaltMigration:
    """Model, survey and options of a migration."""

    def __init__(self, name: str, variant: str) -> None:
        self.case = case = parse(name)
        kind, _, device = variant.partition("@")
        self.limit = int(kind.removeprefix("within-")) * 1_000_000 if kind.startswith("within-") else 0
        self.grid = subsalt.Grid(case.interior, (case.spacing,) * case.ndim)
        self.wavelet = subsalt.ricker(earth.peak_frequency(case), earth.time_step(case), case.steps)
        self.options: dict[str, Any] = {
            "dt": earth.time_step(case),
            "time_dispersion": False,
            "stencil": "taylor",
            "device": device or "cpu",
        }
        self.imaging: dict[str, Any] = {"mode": "adjoint", "condition": "cross-correlation"}
        if kind != "own":
            self.imaging["image_step"] = case.snapshot_every
        if kind == "damping":
            self.options |= {"boundary": "damping", "layer": case.layer}
        self.model = subsalt.EarthModel(self.grid, earth.migration_velocity(case, 0))
        self.survey: subsalt.Survey | None = None
        self.image = np.empty(0)
        self.about = {"peer": "subsalt", "version": subsalt.__version__, "variant": variant}

    def traces(self, out: str) -> float:
        """Model the traces over reflectors without the direct wave, save them; return the largest value.

        The last two periods are zero, so that no taper at the end of the record changes anything.
        """
        survey, options = survey_of(self.case), self.options
        layered = subsalt.EarthModel(self.grid, earth.layered_velocity(self.case, 0))
        water = subsalt.EarthModel(self.grid, 1500.0)
        data = (
            subsalt.forward(layered, survey, self.wavelet, **options).data[0]
            - subsalt.forward(water, survey, self.wavelet, **options).data[0]
        )
        period = round(1 / (earth.peak_frequency(self.case) * earth.time_step(self.case)))
        n = data.shape[1]
        fade = np.clip((n - 2 * period - np.arange(n)) / (2 * period), 0, 1)
        np.save(out, (data * fade).astype(np.float32))
        return float(np.abs(data).max())

    def data(self, path: str) -> None:
        """Load the traces (receiver, sample)."""
        survey = survey_of(self.case)
        self.survey = replace(survey, shots=[replace(survey.shots[0], data=np.load(path))])

    def round(self) -> float:
        """Migrate; return the seconds of the whole call."""
        assert self.survey is not None
        start = time.perf_counter()
        if self.limit:
            self.image = self._within()
        else:
            self.image = subsalt.migrate(
                self.model, self.survey, self.wavelet, **self.options, **self.imaging
            ).image
        return time.perf_counter() - start

    def _within(self) -> np.ndarray:
        """Migrate within the limit; what `subsalt.migrate` does, with a scheme."""
        assert self.survey is not None
        options, imaging = PropagationOptions(**self.options), ImagingOptions(**self.imaging)
        kernels.prepare(options.device, options.threads)
        remember_tiles()
        setup = MigrationSetup.build(self.model, self.wavelet, self.survey.time, options, imaging)
        shot, steps = self.survey.shots[0], setup.axis.nt - 1
        arrays = RankArrays.of(setup, shot)
        scheme = scheme_within(
            self.limit, steps, setup.image_step, arrays.propagator.state, arrays.snapshot()
        )
        total = ImageSum(setup)
        total.add(migrate_shot(setup, shot, self.survey.traces(shot), pool=SnapshotPool(), scheme=scheme))
        return total.finish()

    def save(self, out: str) -> float:
        """Save the image; return its largest absolute value."""
        np.save(out, self.image)
        return float(np.abs(self.image).max())


if __name__ == "__main__":
    serve(SubsaltMigration)
