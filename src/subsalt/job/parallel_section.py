"""The table `[parallel]` of a job file: threads, device, ranks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from subsalt.errors import ConfigError
from subsalt.job.units import AutoInt, AutoParts, AutoTime, Section, key
from subsalt.propagation.options import PropagationOptions


class ParallelSection(Section):
    """Ranks, threads and device of a run; they do not change the result."""

    threads: AutoInt = key(PropagationOptions, "threads", "auto")
    device: Literal["auto", "cpu", "cuda", "reference"] = key(PropagationOptions, "device")
    ranks_per_shot: AutoInt = Field(
        "auto", description="MPI ranks that share a shot; auto: the fewest that fit into memory"
    )
    shots_at_once: AutoInt = Field(
        "auto",
        description="shots that one process computes side by side, each by its share of the threads; "
        "auto: several where they are small; of several ranks each computes one shot at a time",
    )
    decomp: AutoParts = key(PropagationOptions, "decomp")
    io: Literal["per-rank", "broadcast"] = Field(
        "per-rank",
        description="per-rank: every rank reads its part; broadcast: one rank reads all and sends it (for comparison)",
    )
    stream_model: bool = Field(
        False, description="read only the part of the model that a shot needs, in a single process as well"
    )
    watchdog: AutoTime = Field(
        "auto", description="time without response after which a failed rank ends the run; auto: 60 s"
    )

    @property
    def group(self) -> int | Literal["auto"]:
        """MPI ranks that share a shot: as many as there are blocks, where these are given."""
        if isinstance(self.decomp, str):
            return self.ranks_per_shot
        return self.decomp[0] * self.decomp[1]

    @model_validator(mode="after")
    def _every_rank_has_a_block(self) -> ParallelSection:
        if not isinstance(self.decomp, str) and self.ranks_per_shot not in ("auto", self.group):
            px, py = self.decomp
            raise ConfigError(
                f"decomp = [{px}, {py}] has {self.group} parts, ranks_per_shot = {self.ranks_per_shot}",
                f"leave ranks_per_shot out, or set it to {self.group}",
                code="E719",
            )
        return self

    @property
    def patience(self) -> float | None:
        """Seconds of silence after which a rank counts as stopped; None: the default."""
        return None if self.watchdog == "auto" else float(self.watchdog)

    @field_validator("watchdog")
    @classmethod
    def _patience_is_longer_than_a_busy_machine_takes(cls, value: float | str) -> float | str:
        if isinstance(value, float) and value < 1:
            raise ConfigError(
                f"watchdog = {value:g} s is shorter than a busy machine may keep a rank waiting",
                "use 1 s at least, or leave it out (60 s)",
                code="E104",
            )
        return value
