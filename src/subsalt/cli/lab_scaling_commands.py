"""What `subsalt lab scaling` does: check what is asked for, measure, print, keep the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from subsalt.cli.lab_commands import hand_over, nothing_kept, possible, progress, show
from subsalt.cli.output import Out
from subsalt.lab.result import Result
from subsalt.lab.scaling_request import Request
from subsalt.lab.table import Column


def scaling(request: Request, how: str, file: Path | None, as_json: bool) -> None:
    """Measure time steps, whole migrations, or a command."""
    from subsalt.lab import external, scaling_tables, whole
    from subsalt.lab import scaling as kernel

    possible(file, how)
    request.check()
    out = Out(as_json)
    result: Result
    columns: Sequence[Column]
    if request.command:
        program = request.program()
        with nothing_kept():
            result = external.measure(program, say=progress)
        columns = scaling_tables.COMMAND
    elif request.whole:
        migrations = request.migrations()
        with nothing_kept():
            result = whole.measure(migrations, say=progress)
        columns = scaling_tables.WHOLE
    else:
        steps = request.kernel()
        with nothing_kept():
            result = kernel.measure(steps, say=progress)
        columns = scaling_tables.KERNEL
    titles = [] if how == "csv" else [scaling_tables.title(result)]
    show(out, result, [*titles, scaling_tables.table(result.rows, columns, how)], how)
    hand_over(out, result, file)
