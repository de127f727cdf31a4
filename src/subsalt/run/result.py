"""Results of a run: the files that it wrote, their hashes, and its cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from subsalt.errors import Finding
from subsalt.extensions import library


@dataclass
class Written:
    """Files of a finished run: the image in SEG-Y, its hash, and all of them."""

    image: Path
    sha256: str
    files: list[Path] = field(default_factory=list)


@dataclass
class RunResult:
    """The result of a finished run.

    Parameters
    ----------
    run_dir : Path
        The run directory.
    image : Path
        SEG-Y image.
    sha256 : str
        Hash of that file; depends on job and inputs only.
    phases : dict
        Seconds by phase, with `unexplained` and `wall`.
    peak_memory : int
        Largest resident size of the process, bytes.
    shots_done, shots_failed : list of int
        Ids of the shots, or of the blocks of a time migration.
    point_steps : int
        Points computed in all time steps of this call, for reverse time migration, without points that a wave has not
        reached.
    report : Path or None
        HTML report.
    findings : list of Finding
        Findings of the checks, warnings included.
    contributions : int
        Samples that a time migration added.
    unit : {"shot", "block"}
        Kind of the units in `shots_done` and `shots_failed`.
    predicted : dict
        Predicted cost, on rank 0 (`MethodRun.predict`).
    grid_point_steps : int
        Grid points times time steps of this call.
    """

    run_dir: Path
    image: Path
    sha256: str
    phases: dict[str, float]
    peak_memory: int
    shots_done: list[int]
    shots_failed: list[int]
    point_steps: int = 0
    report: Path | None = None
    files: list[Path] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    contributions: int = 0
    unit: str = "shot"
    predicted: dict[str, Any] = field(default_factory=dict)
    grid_point_steps: int = 0

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_run(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the result for ``--json``."""
        return {
            "run": str(self.run_dir),
            "image": str(self.image),
            "sha256": self.sha256,
            "phases": self.phases,
            **(
                {"point_steps": self.point_steps, "grid_point_steps": self.grid_point_steps}
                if self.unit == "shot"
                else {"contributions": self.contributions}
            ),
            "peak_memory_bytes": self.peak_memory,
            f"{self.unit}s_done": self.shots_done,
            f"{self.unit}s_failed": self.shots_failed,
            "report": None if self.report is None else str(self.report),
            "files": [str(f) for f in self.files],
            "model": self.comparison(),
        }

    def comparison(self) -> dict[str, Any] | None:
        """Return the run against what it was predicted to take, phase by phase; None when nothing was predicted."""
        from subsalt.report.time_spent import comparison_of

        compared = comparison_of({"predicted": self.predicted, "phases": self.phases})
        return None if compared is None else compared.to_dict()
