"""What `subsalt lab scaling` does: check what is asked for, measure, print, keep the result."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from subsalt.cli.lab_commands import nothing_kept, progress, show
from subsalt.cli.output import Out, plain
from subsalt.errors import DiskError
from subsalt.io.publish import publish_text
from subsalt.lab import asked
from subsalt.lab.result import Result
from subsalt.lab.scaling_request import Request
from subsalt.lab.table import FORMATS, Column


def scaling(request: Request, how: str, file: Path | None, as_json: bool) -> None:
    """Measure time steps, whole migrations, or a command."""
    from subsalt.lab import external, scaling_tables, whole
    from subsalt.lab import scaling as kernel

    if how not in FORMATS:
        raise asked.wrong(f"--table {how}: not known", f"choose from {', '.join(FORMATS)}")
    if file is not None and (file.is_dir() or not os.access(file.parent, os.W_OK)):
        raise DiskError(f"{file} cannot be written", "give another name with --out", code="E620")
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
    content = plain(result.to_dict())
    if file is not None:
        publish_text(file, json.dumps(content, indent=1, allow_nan=False) + "\n")
    out.json(content)
