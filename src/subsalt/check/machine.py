"""The demands of a job on the machine that checks it."""

from __future__ import annotations

from collections.abc import Iterator

from subsalt import kernels
from subsalt.check.context import Context, rule, warning
from subsalt.errors import DeviceError, Finding


@rule("machine")
def threads(context: Context) -> Iterator[Finding]:
    """More threads than cores; far more are refused by `kernels.threads_to_use`, as the run would be."""
    cores = kernels.cores()
    try:
        count = kernels.threads_to_use(context.propagation.threads)
    except DeviceError:
        return  # the loader of the job says so
    if count > cores:
        yield warning(
            "W705",
            f"{count} threads on the {cores} cores that this process may use: they take turns, and every step "
            "waits for the last",
            f"[parallel] threads = {cores}, or leave it out",
            threads=count,
            cores=cores,
        )
