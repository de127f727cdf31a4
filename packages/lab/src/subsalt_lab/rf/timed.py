"""Run a command and print its time last: ``python -m subsalt_lab.rf.timed WORK``, what a ReFrame test executes.

WORK is one JSON object: the words of the command, the folder it runs in, the expression that finds its time, seconds
after which it is ended, and the file that takes the error when there is one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from subsalt.errors import SubsaltError
from subsalt.io.publish import publish_text
from subsalt_lab.external import timed


def _ended(number: int, frame: FrameType | None) -> None:
    """End the command, too: it runs in a session of its own."""
    raise SystemExit(128 + number)


def main(text: str) -> int:
    """Run, print, and return the exit code."""
    work: dict[str, Any] = json.loads(text)
    signal.signal(signal.SIGTERM, _ended)
    os.chdir(work["folder"])
    os.environ.pop("TMPDIR", None)
    if work["temporary"] is not None:
        os.environ["TMPDIR"] = work["temporary"]
    try:
        seconds, off = timed(work["words"], work["what"], work["time_from"], work["timeout"])
    except SubsaltError as error:
        told = {"code": error.code, "message": error.message, "fix": error.fix, "exit_code": error.exit_code}
        publish_text(Path(work["error"]), json.dumps(told))
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"subsalt-campaign {seconds!r} {off!r}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
