"""Arrays of batch systems: what their elements start, and what is refused."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from subsalt.errors import ConfigError
from subsalt.run.arrays import UnitArray, batch_definition, kubernetes_job, slurm_array

MOUNT = Path("/data")
ARRAY = UnitArray(
    "My line_2", MOUNT / "the line.run", 40, 8, 3_000_000_001, 7200, ("printf", "%s\\n"), "40 shots"
)
STARTED = ["unit", "/data/the line.run", "--part", "7/40", "--threads", "8"]


def words(command: list[str], **environment: str) -> list[str]:
    """Return the words that a command passes to a program that prints them."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"], **environment}
    )
    return done.stdout.splitlines()


def test_elements_compute_their_part() -> None:
    script = slurm_array(ARRAY, ["--qos=long"])
    assert words(["bash", "-c", script], SLURM_ARRAY_TASK_ID="7") == STARTED
    pods = kubernetes_job(ARRAY, "registry/subsalt:0.9", "claim", MOUNT, 12)
    container = pods["spec"]["template"]["spec"]["containers"][0]
    assert words(container["command"], JOB_COMPLETION_INDEX="7") == STARTED
    assert (pods["spec"]["completions"], pods["spec"]["parallelism"]) == (40, 12)
    assert container["resources"]["limits"] == {"cpu": "8", "memory": "2900Mi"}
    batch = batch_definition(ARRAY, "image", "fs-1", MOUNT)
    assert words(batch["containerProperties"]["command"], AWS_BATCH_JOB_ARRAY_INDEX="7") == STARTED
    assert {pods["metadata"]["name"], batch["jobDefinitionName"]} == {"my-line-2"}
    lines = script.splitlines()
    for line in (
        "--array=0-39",
        "--cpus-per-task=8",
        "--mem=2900M",
        "--time=02:00:00",
        "--qos=long",
        "--requeue",
    ):
        assert f"#SBATCH {line}" in lines


@pytest.mark.parametrize(("code", "restarts", "again"), [(75, 0, True), (75, 10, False), (65, 0, False)])
def test_an_element_of_slurm_is_queued_again_when_that_may_help(
    tmp_path: Path, code: int, restarts: int, again: bool
) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f"#!/bin/sh\necho $* > {tmp_path}/said\n")
    scontrol.chmod(0o755)
    script = slurm_array(replace(ARRAY, program=("bash", "-c", f"exit {code}")))
    environment = {
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_ARRAY_JOB_ID": "17",
        "SLURM_RESTART_COUNT": str(restarts),
    }
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert (
        subprocess.run(["bash", "-c", script], env=environment | {"PATH": path}, check=False).returncode
        == code
    )
    said = tmp_path / "said"
    assert said.exists() == again
    assert not again or said.read_text() == "requeue 17_3\n"


def test_arrays_that_cannot_be() -> None:
    for tasks in (1, 10_001):
        with pytest.raises(ConfigError, match="2 to 10000"):
            batch_definition(replace(ARRAY, tasks=tasks), "image", "fs-1", MOUNT)
    with pytest.raises(ConfigError, match="control character"):
        replace(ARRAY, run_dir=Path("/data/a\nb"))
