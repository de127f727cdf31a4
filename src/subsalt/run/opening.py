"""Opening a run directory for a job, on rank 0 before the first unit; an old result may be moved away first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from subsalt.errors import ConfigError
from subsalt.io.publish import make_folder
from subsalt.io.run_folder import own_run
from subsalt.run.ledger import Ledger
from subsalt.run.set_aside import finish_setting_aside, set_aside


def open_run(
    stack: ExitStack,
    folder: Path,
    begin: Callable[[Ledger], None],
    recompute: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Ledger:
    """Return the ledger of a run directory, which is made when missing, tied to the job.

    Parameters
    ----------
    stack : ExitStack
        Closes the ledger.
    folder : Path
        The run directory.
    begin : callable
        ``begin(ledger)`` ties the directory to job and inputs, or refuses, see `begin_run`.
    recompute : bool
        Whether the result of another job in the directory is moved to ``previous`` instead of refused.
    say : callable, optional
        Callback for progress text: where the old result went.

    Raises
    ------
    ConfigError
        When the directory belongs to another job.
    CannotCreateError
        When another process works in it.
    """
    make_folder(folder, 0o700)  # on shared scratch a run is its owner's
    own_run(folder, writing=True)
    finish_setting_aside(folder)
    ledger = stack.enter_context(Ledger(folder))
    try:
        begin(ledger)
    except ConfigError as changed:
        if not recompute or changed.code not in ("E810", "E860"):
            raise
        old = ledger.get("run_id") or ""
        ledger.close()
        say(f"the old result is now in {set_aside(folder, old)}")
        ledger = stack.enter_context(Ledger(folder))
        begin(ledger)
    return ledger
