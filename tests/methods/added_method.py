"""A method of imaging that adds nothing to the package: the mean trace of a survey, each file one part."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from subsalt.errors import Finding
from subsalt.io.publish import make_folder, publish_text
from subsalt.job.base import BaseJob
from subsalt.job.checking import CheckResult
from subsalt.job.data_sections import TracesSection
from subsalt.job.inputs import data_files
from subsalt.job.parallel_section import ParallelSection
from subsalt.methods import StartOption
from subsalt.plan.disk import Disk
from subsalt.plan.plan import Plan
from subsalt.plan.prediction import Prediction
from subsalt.report.facts import MethodRows
from subsalt.run.method_run import ImagingRun
from subsalt.run.result import Written


class MeanJob(BaseJob):
    """Files of traces, and a factor on their mean."""

    method: Literal["mean"] = Field("mean", description="how the image is made")
    data: TracesSection = Field(description="recorded traces")
    factor: float = Field(1.0, description="factor on the mean")
    parallel: ParallelSection = Field(default_factory=ParallelSection, description="threads and device")

    def input_files(self):
        return {"data.files": data_files(self)}


@dataclass
class Unit:
    """One file."""

    id: int
    path: Path


@dataclass
class Looked:
    """What the check has looked at."""

    facts: dict


class MeanRun(ImagingRun):
    """Means of files, and the mean of these."""

    unit = "part"

    def load(self):
        self.files = [Unit(n + 1, path) for n, path in enumerate(data_files(self.job))]

    def prepare(self):
        make_folder(self.state.images)

    def units(self):
        if self.state.ledger is not None:
            self.state.ledger.plan([unit.id for unit in self.files])
        return self.files

    @contextmanager
    def work(self, stack, groups, crash):
        yield self._mean

    def _mean(self, unit, next_unit, report):
        text = str(float(np.frombuffer(unit.path.read_bytes(), np.uint8).mean()))
        publish_text(self.state.images / f"{unit.id}.txt", text)
        return {"unit": unit.id, "sha256": hashlib.sha256(text.encode()).hexdigest(), "seconds": 0.0}

    def facts(self):
        return {"files_read": len(self.files)}

    def totals(self):
        return {"contributions": len(self.files)}

    def ending_facts(self, rows, spent):
        return {}

    def assemble(self):
        means = [float((self.state.images / f"{u.id}.txt").read_text()) for u in self.files]
        text = f"{self.job.factor * np.mean(means)}\n"
        image = self.state.folder / "mean.txt"
        publish_text(image, text)
        return Written(image, hashlib.sha256(text.encode()).hexdigest(), [image])


class Mean:
    """See `subsalt.methods.Method`."""

    name, title, unit, axis = "mean", "mean of bytes", "part", "depth"
    start_options = (StartOption("factor", "mean: factor on the mean."),)
    rate_keys = ("isa",)

    def job_class(self):
        return MeanJob

    def start(self, job, files, **options):
        raise NotImplementedError

    def check(self, job):
        finding = Finding("W104", "warning", "the mean says little", "look at the traces", {})
        return CheckResult([finding], Looked({"files": len(data_files(job))}))

    def draw_map(self, job, result, place):
        publish_text(place("map.png"), "drawn")
        return place("map.png")

    def draw_repairs(self, job, result, place):
        return None

    def plan(self, job, request):
        disk = Disk({"image": 10}, 1 << 40, Path())
        return Plan([["mean: little"]], "it fits", {"bytes": 10}, 10, [disk], Prediction(), "1 file", None)

    def nodes_model(self, job, run_dir):
        raise NotImplementedError

    def open_run(self, job, state):
        return MeanRun(job, state)

    def view(self, folder, path, how, say):
        say(f"clip {how.clip:g}")
        publish_text(path, (folder / "mean.txt").read_text())
        return [path]

    def report_rows(self, facts):
        files = str(facts.run["files_read"])
        return MethodRows(
            cards=[(files, "files whose bytes were averaged")], titles={"shots": "Parts of the mean"}
        )

    def misfits(self, folder):
        return ()

    def misfit_is_of(self, folder):
        return ""

    def identity_text(self, again):
        return "the mean of all bytes"

    def tiny_job(self):
        return 'method = "mean"\n[data]\nfiles = ["shots.sgy"]\n'

    def velocity_scanner(self, job, request):
        return None


METHOD = Mean()
