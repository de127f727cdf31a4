"""Does an array that `subsalt submit` renders give the bytes of one process under a Slurm of this machine?

    python tests/faults/prove_slurm.py [--shots 24] [--tasks 6] [--json FILE]

Starts munged, slurmctld and slurmd in a temporary folder, on ports of their own: one node, this machine. A small survey
is prepared; the script of `subsalt submit --to slurm-array` is submitted as it is; one element is requeued while it
runs, as a pre-emption does it, and another one loses its program by SIGKILL. `subsalt resume` computes what that one
has left, and makes the image. Prints one JSON object; the exit code is 1 where bytes differ.

It needs root and the Debian packages slurmctld, slurmd, slurm-client and munge; elsewhere it says what is missing and
ends with 0.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "run"), str(HERE.parent)]

from small_run import MIGRATE, MODEL  # noqa: E402

from patience import PATIENCE, wait_for  # noqa: E402

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "sinfo", "scancel")
CONF = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory}
PartitionName=work Nodes={host} Default=YES State=UP
"""


def missing() -> str:
    """Return why there can be no Slurm here; empty when there can."""
    if os.geteuid() != 0:
        return "this is not root"
    gone = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"{', '.join(gone)} not installed (slurmctld, slurmd, slurm-client, munge)" if gone else ""


def _path() -> str:
    """Return where programs of the system lie, too."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


@contextmanager
def daemon(log: Path, *words: str) -> Iterator[None]:
    """Run a program in the foreground of a session of its own while the block runs."""
    with log.open("ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True, env=environment())
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def environment() -> dict[str, str]:
    """Return the environment of all programs."""
    return os.environ | {"PATH": _path(), "OMP_NUM_THREADS": "1", "SUBSALT_MEASURE": "off"}


def said(*words: str) -> str:
    """Return what a command prints; an error ends the proof with its words."""
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


@contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """Have a Slurm of one node while the block runs."""
    host = platform.node().split(".")[0]
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir(mode=0o755)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    conf = folder / "slurm.conf"
    cores = len(os.sched_getaffinity(0))
    conf.write_text(
        CONF.format(host=host, folder=folder, ports=free_ports(2), cores=cores, memory=total * 3 // 4)
    )
    os.environ["SLURM_CONF"] = str(conf)
    munge = [
        f"--{name}={folder}/munge.{name.removesuffix('-file')}"
        for name in ("key-file", "pid-file", "log-file")
    ]
    with ExitStack() as stack:
        words = [
            "munged",
            "-F",
            "--force",
            *munge,
            f"--seed-file={folder}/munge.seed",
            f"--socket={folder}/munge.sock",
        ]
        stack.enter_context(daemon(folder / "munged.out", *words))
        wait_for((folder / "munge.sock").exists)
        stack.enter_context(daemon(folder / "slurmctld.out", "slurmctld", "-D", "-f", str(conf)))
        stack.enter_context(daemon(folder / "slurmd.out", "slurmd", "-D", "-f", str(conf), "-N", host))
        try:
            wait_for(lambda: _idle(host))
        except BaseException:
            for log in sorted(folder.glob("*.out")) + sorted(folder.glob("*.log")):
                sys.stderr.write(f"{log.name}:\n{log.read_text(errors='replace')[-1500:]}\n")
            raise
        yield


def _idle(host: str) -> bool:
    """Return whether the node takes jobs."""
    done = subprocess.run(
        ["sinfo", "-h", "-n", host, "-o", "%T"], env=environment(), capture_output=True, text=True
    )
    return done.stdout.strip() == "idle"


def running(job: str) -> list[str]:
    """Return the elements of an array that run now."""
    lines = said("squeue", "-h", "-j", job, "-t", "RUNNING", "-o", "%K").split()
    return [line for line in lines if line.isdigit()]


def strike(job: str, done: Callable[[], bool]) -> dict[str, str]:
    """Requeue one element while it runs, and kill the program of another; return which."""
    struck: dict[str, str] = {}
    while len(struck) < 2 and not done():
        for element in running(job):
            if "requeued" not in struck:
                said("scontrol", "requeue", f"{job}_{element}")
                struck["requeued"] = element
            elif "killed" not in struck and element != struck["requeued"]:
                said("scancel", "--signal=KILL", "--full", f"{job}_{element}")
                struck["killed"] = element
        time.sleep(0.1)
    return struck


def contents(run: Path) -> dict[str, str]:
    """Return the hashes of image and partial images."""
    files = [run / "image.sgy", *sorted((run / "images").iterdir())]
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def prove(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    """Run the array; return what came of it."""
    subsalt = [sys.executable, "-m", "subsalt"]
    (folder / "model.toml").write_text(MODEL.replace("n = 3", f"n = {options.shots}"))
    job, run = folder / "job.toml", folder / "array.run"
    job.write_text(MIGRATE)
    said(*subsalt, "model", str(folder / "model.toml"), "--out", str(folder / "shots"), "--quiet")
    said(*subsalt, "migrate", str(job), "--run", str(folder / "whole.run"), "--quiet")
    words = [
        "--to",
        "slurm-array",
        "--threads",
        "1",
        "--tasks",
        str(options.tasks),
        "--run",
        str(run),
        "--json",
    ]
    rendered = json.loads(said(*subsalt, "submit", str(job), *words))
    script = Path(rendered["script"])
    said(*subsalt, "migrate", str(job), "--run", str(run), "--prepare", "--quiet")
    begin = time.monotonic()
    array = said("sbatch", "--parsable", str(script)).strip()

    def over() -> bool:
        return not said("squeue", "-h", "-j", array, "-o", "%i").split()

    struck = strike(array, over)
    with contextlib.suppress(SystemExit):  # a job that is long over is not known any more
        while not over():
            time.sleep(1)
    seconds = time.monotonic() - begin
    published = len(list(run.glob("attempts/round_000/unit_*/*/unit.json")))
    said(*subsalt, "resume", str(run), "--quiet")
    whole, now = contents(folder / "whole.run"), contents(run)
    return {
        "slurm": said("sinfo", "--version").split()[-1],
        "shots": options.shots,
        "elements": options.tasks,
        "struck": struck,
        "seconds": round(seconds, 1),
        "published by the array": published,
        "differing files": sorted(name for name in {*whole, *now} if whole.get(name) != now.get(name)),
    }


def main() -> int:
    """Prove it, or say why it cannot be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--shots", type=int, default=24)
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if why := missing():
        print(f"skipped: {why}")
        return 0
    with tempfile.TemporaryDirectory(prefix="subsalt-slurm-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        (folder / "slurm").mkdir(mode=0o755)
        with slurm(folder / "slurm"):
            result = prove(folder, options)
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 1 if result["differing files"] else 0


if __name__ == "__main__":
    sys.exit(main())
