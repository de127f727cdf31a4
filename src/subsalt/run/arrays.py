"""Arrays of batch systems: each element computes a part of the units of a prepared run, by `subsalt unit`.

An array needs no engine: the batch system starts an element again that was lost, and the element leaves out what it had
published. `subsalt resume` makes the image when all are done.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError
from subsalt.run.slurm import MB, clock, plain_name, sbatch_word

#: exit codes of `subsalt unit` after which another start may succeed: stopped, terminated, a failure to read or write
AGAIN = (75, 143)
#: starts of an element, and elements that AWS Batch takes
STARTS, MOST_OF_BATCH = 10, 10_000
#: characters of a name in Kubernetes and in AWS Batch
LONGEST = 50


@dataclass(frozen=True)
class UnitArray:
    """An array of `tasks` elements.

    Parameters
    ----------
    name : str
        Name of the job.
    run_dir : Path
        The run directory, where all elements see it.
    tasks : int
        Elements, each of which computes an equal part of the units.
    threads : int
        Cores of an element.
    memory : int
        Bytes of an element.
    seconds : int
        Time limit of an element.
    program : sequence of str
        Words that start subsalt.
    note : str
        Comment for the reader.
    """

    name: str
    run_dir: Path
    tasks: int
    threads: int
    memory: int
    seconds: int
    program: Sequence[str] = ("subsalt",)
    note: str = ""

    def __post_init__(self) -> None:
        if any(ord(c) < 32 or ord(c) == 127 for c in str(self.run_dir)):
            raise wrong(f"{str(self.run_dir)!r} contains a control character", "rename the folder")

    @property
    def megabytes(self) -> int:
        """Memory of an element in hundreds of megabytes, in megabytes."""
        return max(100, -(-self.memory // (100 * MB)) * 100)

    @property
    def short_name(self) -> str:
        """Name of lower-case letters, digits and hyphens."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:LONGEST].strip("-") or "subsalt"

    def command(self, index: str) -> str:
        """Return the command line of an element, `index` being a variable of its shell."""
        words = [*self.program, "unit", str(self.run_dir)]
        return f'{shlex.join(words)} --part "${index}/{self.tasks}" --threads {self.threads}'


def slurm_array(array: UnitArray, more: Sequence[str] = ()) -> str:
    """Return the batch script of an array under Slurm; `more` are options of sbatch."""
    log = f"{str(array.run_dir.parent).replace('%', '%%')}/{plain_name(array.name)}-%A_%a.log"
    lines = [
        "#!/bin/bash",
        *([f"# {array.note}"] if array.note else []),
        f"#SBATCH --job-name={plain_name(array.name)}",
        f"#SBATCH --array=0-{array.tasks - 1}",
        "#SBATCH --nodes=1",
        "#SBATCH --ntasks=1",
        f"#SBATCH --cpus-per-task={array.threads}",
        f"#SBATCH --mem={array.megabytes}M",
        f"#SBATCH --time={clock(array.seconds)}",
        *(f"#SBATCH {sbatch_word(option)}" for option in more),
        "# an element is started again after a node failure or a pre-emption, and leaves out what it has published",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        f"#SBATCH --output={sbatch_word(log)}",
        "",
        "set -u",
        array.command("SLURM_ARRAY_TASK_ID"),
        "code=$?",
        "# 75: another start may succeed",
        f"if [[ $code -eq 75 && ${{SLURM_RESTART_COUNT:-0}} -lt {STARTS} ]]; then",
        '    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && exit 75',
        "fi",
        'exit "$code"',
        "",
    ]
    return "\n".join(lines)


def kubernetes_job(array: UnitArray, image: str, claim: str, mount: Path, at_once: int) -> dict[str, Any]:
    """Return an indexed Job of Kubernetes.

    Parameters
    ----------
    image : str
        Container image with subsalt.
    claim : str
        PersistentVolumeClaim that holds job, traces and run directory; ReadWriteMany.
    mount : Path
        Where it is mounted: a folder above all of these.
    at_once : int
        Pods at a time.
    """
    resources = {"cpu": str(array.threads), "memory": f"{array.megabytes}Mi"}
    container = {
        "name": "unit",
        "image": image,
        # the index of the pod is a variable of its environment
        "command": ["sh", "-c", f"exec {array.command('JOB_COMPLETION_INDEX')}"],
        "resources": {"requests": resources, "limits": dict(resources)},
        "volumeMounts": [{"name": "run", "mountPath": str(mount)}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": array.short_name},
        "spec": {
            "completionMode": "Indexed",
            "completions": array.tasks,
            "parallelism": min(at_once, array.tasks),
            # an element that fails does not end the others
            "backoffLimitPerIndex": STARTS,
            "maxFailedIndexes": array.tasks,
            "podFailurePolicy": {
                "rules": [
                    # a pod that was evicted, or whose node was taken away, does not count
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    {
                        "action": "FailIndex",
                        "onExitCodes": {
                            "containerName": "unit",
                            "operator": "In",
                            "values": [2, 65, 66, 69, 70, 78],
                        },
                    },
                ]
            },
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [container],
                    "volumes": [{"name": "run", "persistentVolumeClaim": {"claimName": claim}}],
                }
            },
        },
    }


def batch_definition(array: UnitArray, image: str, file_system: str, mount: Path) -> dict[str, Any]:
    """Return the definition of a job of AWS Batch, for `aws batch register-job-definition`.

    Parameters
    ----------
    image : str
        Container image with subsalt.
    file_system : str
        Id of the EFS file system that holds job, traces and run directory.
    mount : Path
        Where it is mounted: a folder above all of these.
    """
    if not 2 <= array.tasks <= MOST_OF_BATCH:
        raise wrong(
            f"--tasks {array.tasks}: an array of AWS Batch has 2 to {MOST_OF_BATCH} elements",
            "give --tasks in that range: each computes an equal part of the shots",
        )
    return {
        "jobDefinitionName": array.short_name,
        "type": "container",
        "platformCapabilities": ["EC2"],
        "retryStrategy": {
            "attempts": STARTS,
            "evaluateOnExit": [
                {"onStatusReason": "Host EC2*", "action": "RETRY"},
                *({"onExitCode": str(code), "action": "RETRY"} for code in (*AGAIN, 137)),
                {"onReason": "*", "action": "EXIT"},
            ],
        },
        "timeout": {"attemptDurationSeconds": array.seconds},
        "containerProperties": {
            "image": image,
            "command": ["sh", "-c", f"exec {array.command('AWS_BATCH_JOB_ARRAY_INDEX')}"],
            "resourceRequirements": [
                {"type": "VCPU", "value": str(array.threads)},
                {"type": "MEMORY", "value": str(array.megabytes)},
            ],
            "volumes": [{"name": "run", "efsVolumeConfiguration": {"fileSystemId": file_system}}],
            "mountPoints": [{"sourceVolume": "run", "containerPath": str(mount), "readOnly": False}],
        },
    }


def as_text(content: dict[str, Any]) -> str:
    """Return a description as JSON, which is YAML too."""
    return json.dumps(content, indent=2) + "\n"


def wrong(message: str, fix: str) -> ConfigError:
    """Return the error of an option that cannot be written into a script."""
    error = ConfigError(message, fix, code="E786")
    error.exit_code = 2
    return error
