"""The option of a run that iterates: how many iterations it takes at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob


@dataclass(frozen=True)
class IterationOptions:
    """Options of a least-squares migration, which replace keys of `[inversion]`."""

    iterations: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Least-squares migration: iterations at most. A finished run takes more of them.",
            show_default="[inversion] iterations of the job",
        ),
    ] = None

    def applied_to(self, job: BaseJob) -> BaseJob:
        """Return the job with this number of iterations.

        Raises
        ------
        ConfigError
            When its method has none (E769).
        """
        if self.iterations is None:
            return job
        if "inversion" not in type(job).model_fields:
            raise ConfigError(
                f"--iterations {self.iterations}: method {job.method} has none",
                'leave it out, or add method = "lsrtm" to the job',
                code="E769",
            )
        return job.changed("inversion", iterations=self.iterations)
