"""The one ReFrame test of a campaign: runs of a command, numbered in the order in which they are to be made.

Loaded by ReFrame, which may live in another environment than subsalt: nothing of subsalt is imported here. The runs
stand in the file that ``SUBSALT_CAMPAIGN`` names (`subsalt_lab.rf.campaign` writes it).
"""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_after, sanity_function

RUNS = json.loads(Path(os.environ["SUBSALT_CAMPAIGN"]).read_text())["runs"]
#: what `subsalt_lab.rf.timed` prints last: seconds, and how far off they may be
ANSWER = r"^subsalt-campaign (\S+) (\S+)$"


@rfm.simple_test
class Campaign(rfm.RunOnlyRegressionTest):
    """One run of the command with one layout."""

    number = parameter(range(len(RUNS)))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @run_after("init")
    def arrange(self) -> None:
        """Take the words and the layout of this run; the script that ReFrame writes is read by a shell."""
        run = RUNS[self.number]
        self.executable, *self.executable_opts = map(shlex.quote, run["words"])
        self.num_tasks, self.num_cpus_per_task = run["ranks"], run["threads"]
        self.env_vars = {"OMP_NUM_THREADS": str(run["threads"])}

    @sanity_function
    def has_a_time(self) -> Any:
        """A run without its last line has failed."""
        return sn.assert_found(ANSWER, self.stdout)

    @performance_function("s")
    def time(self) -> Any:
        """Seconds of the run."""
        return sn.extractsingle(ANSWER, self.stdout, 1, float)

    @performance_function("s")
    def resolution(self) -> Any:
        """How far off they may be."""
        return sn.extractsingle(ANSWER, self.stdout, 2, float)
