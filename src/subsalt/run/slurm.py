"""The batch script of a run under Slurm: requeued, signalled before its time is over, resuming where it stopped."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import ConfigError

#: seconds before the limit at which the script is signalled; a tenth of a short limit
NOTICE = 300
#: bytes of a megabyte as Slurm counts them
MB = 1 << 20


@dataclass(frozen=True)
class Batch:
    """A batch script: the resources that it requests, and the command that it starts.

    Parameters
    ----------
    name : str
        Name of the job.
    command : sequence of str
        The program and its arguments.
    folder : Path
        Folder in which it is started, and into which the log is written.
    run_dir : Path
        The run directory, in which finished shots are counted.
    nodes, ranks_per_node : int
        Nodes, and ranks on each.
    threads : int or None
        Threads of each rank; None requests whole nodes and shares their cores among the ranks.
    memory_per_node : int
        Bytes to reserve; 0 reserves all memory of a whole node, and leaves a shared one to the default of the cluster.
    seconds : int
        Time limit.
    starter : str
        ``"srun"``, ``"srun:TYPE"`` with the type of ``srun --mpi``, or ``"mpiexec"``.
    partition, account : str, optional
        Names in Slurm.
    library : str, optional
        The MPI library of the site, for MPI4PY_LIBMPI.
    mpiexec : str
        The command behind ``"mpiexec"``.
    more : sequence of str
        Further options of sbatch, such as ``"--qos=long"``.
    note : str
        Why so much memory, for the reader of the script.

    Raises
    ------
    ConfigError
        When something cannot be written into a script (E786).
    """

    name: str
    command: Sequence[str]
    folder: Path
    run_dir: Path
    nodes: int
    ranks_per_node: int = 1
    threads: int | None = None
    memory_per_node: int = 0
    seconds: int = 24 * 3600
    starter: str = "srun"
    partition: str | None = None
    account: str | None = None
    library: str | None = None
    mpiexec: str = "mpiexec"
    more: Sequence[str] = ()
    note: str = ""

    def __post_init__(self) -> None:
        for what, n in (("--nodes", self.nodes), ("--ranks-per-node", self.ranks_per_node)):
            if n < 1:
                raise _wrong(f"{what} {n}: at least one is needed", f"give {what} 1 or more")
        if self.threads is not None and self.threads < 1:
            raise _wrong(
                f"--threads {self.threads}: at least one is needed",
                "give --threads 1 or more, or leave it out",
            )
        if re.fullmatch(r"mpiexec|srun(:[a-z0-9_]+)?", self.starter) is None:
            raise _wrong(
                f"--mpi {self.starter}: not known",
                "use srun, srun:TYPE (`srun --mpi=list` lists the types) or mpiexec",
            )
        for what, word in (("--partition", self.partition), ("--account", self.account)):
            if word is not None and re.fullmatch(r"[\w.,@+-]+", word) is None:
                raise _wrong(
                    f"{what} {word!r} is not a name", "`sinfo` lists the partitions, `sacctmgr` the accounts"
                )
        for option in self.more:
            if re.fullmatch(r"--?[a-z][\w-]*(=[^\x00-\x1f\x7f]*)?", option) is None:
                raise _wrong(
                    f"--sbatch {option!r} is not an option of sbatch",
                    "give one option each time, such as --sbatch=--qos=long",
                )
        for text in (*self.command, str(self.folder), str(self.run_dir), self.library or "", self.mpiexec):
            if any(ord(c) < 32 or ord(c) == 127 for c in text):
                raise _wrong(
                    f"{text!r} contains a control character",
                    "rename the file: a batch script is read line by line",
                )

    @property
    def ranks(self) -> int:
        """Ranks in all."""
        return self.nodes * self.ranks_per_node

    @property
    def notice(self) -> int:
        """Seconds before the limit at which the script is signalled."""
        return min(NOTICE, max(1, self.seconds // 10))

    def text(self) -> str:
        """Return the script."""
        return "\n".join([*self._options(), "", *self._surroundings(), "", *self._start(), "", *_END, ""])

    def _options(self) -> list[str]:
        """Return the lines that sbatch reads."""
        memory = -(-self.memory_per_node // (100 * MB)) * 100
        whole = "" if self.threads else "#SBATCH --mem=0"
        lines = [
            "#!/bin/bash",
            f"# {self.note}" if self.note else "",
            f"#SBATCH --job-name={plain_name(self.name)}",
            f"#SBATCH --nodes={self.nodes}",
            f"#SBATCH --ntasks-per-node={self.ranks_per_node}",
            f"#SBATCH --cpus-per-task={self.threads}" if self.threads else "#SBATCH --exclusive",
            f"#SBATCH --mem={memory}M" if memory else whole,
            f"#SBATCH --time={clock(self.seconds)}",
            f"#SBATCH --partition={self.partition}" if self.partition else "",
            f"#SBATCH --account={self.account}" if self.account else "",
            *(f"#SBATCH {sbatch_word(option)}" for option in self.more),
            "# started again after a node failure, a pre-emption, or the end of its time; the log is continued",
            "#SBATCH --requeue",
            "#SBATCH --open-mode=append",
            f"#SBATCH --signal=B:USR1@{self.notice}",
            f"#SBATCH --output={sbatch_word(_no_percent(self.folder) + '/' + plain_name(self.name) + '-%j.log')}",
        ]
        return [line for line in lines if line]

    def _surroundings(self) -> list[str]:
        """Return the lines before the start: folder, MPI, threads."""
        if self.threads:
            cpus = ["cpus=$SLURM_CPUS_PER_TASK"]
        else:
            cpus = [
                f"cpus=$((SLURM_CPUS_ON_NODE / {self.ranks_per_node}))  # the nodes are ours alone",
                "((cpus)) || cpus=1",
            ]
        return [
            "set -u -o pipefail",
            f"cd -- {shlex.quote(str(self.folder))} || exit 73",
            *(
                [f"export MPI4PY_LIBMPI={shlex.quote(self.library)}  # the MPI of this site"]
                if self.library
                else []
            ),
            "# every rank has the processors that its share of the node holds, and one thread on each",
            *cpus,
            "export OMP_NUM_THREADS=$cpus",
        ]

    def _start(self) -> list[str]:
        """Return the lines that start the ranks."""
        words = " \\\n    ".join(_wrapped([shlex.quote(w) for w in self.command]))
        if self.starter == "mpiexec":
            launch = [
                "# threads of a rank need more than the one core that some launchers bind it to",
                "export SLURM_CPU_BIND=none OMPI_MCA_hwloc_base_binding_policy=none",
                "export PRTE_MCA_hwloc_default_binding_policy=none",
                f'launch=({shlex.quote(self.mpiexec)} -n "$SLURM_NTASKS")',
            ]
        else:
            kind = self.starter.partition(":")[2] or "pmi2"
            launch = [
                f'launch=(srun --mpi={kind} --cpus-per-task="$cpus" --kill-on-bad-exit=1)',
                # tried: ranks of MPICH 5.0.2 that were killed leave /dev/shm/mpich_shm_HASH, where HASH comes from the
                # numbers of job and step; after a requeue both are the same, and MPI_Init reads what the dead left
                "# killed ranks leave shared memory under the number of their step: a restart takes the next number",
                "for ((k = 0; k < ${SLURM_RESTART_COUNT:-0}; k++)); do srun --nodes=1 --ntasks=1 true; done",
            ]
        return [
            f"run_dir={shlex.quote(str(self.run_dir))}",
            f"command=({words})",
            *launch,
        ]


#: The end of every script. `wait` returns early when a signal was trapped: what counts is how the program itself ended.
_END = """\
finished() { find "$run_dir/images" -maxdepth 1 -type f ! -name '.*' 2>/dev/null | wc -l; }

# restart points inside a shot ([checkpoint] restart_every) or a block of a time migration
restarts() {
    find "$run_dir/snapshots" "$run_dir/restart" \\( -name 'restart*.json' -o -name 'block_*.json' \\) \\
        -printf '%p %T@\\n' 2>/dev/null | sort
}

before=$(finished) restarts_before=$(restarts)
signalled= child=
# the time is nearly over: the shot or block in progress is abandoned, what is finished is kept (exit code 75)
trap 'signalled=yes; [[ -z $child ]] || kill -USR1 "$child"' USR1
trap '[[ -z $child ]] || kill -TERM "$child"' TERM
"${launch[@]}" "${command[@]}" &
child=$!
wait "$child"
code=$?
while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    code=$?
done

# exit code 75 without a signal comes from `subsalt stop` or `scancel`: the run is to end
if [[ $code -ne 0 && -n $signalled ]]; then
    if (( $(finished) > before )) || [[ $(restarts) != "$restarts_before" ]]; then
        echo "stopped before the time limit; queued again, the run continues from here"
        scontrol requeue "$SLURM_JOB_ID" && exit 75
    fi
    echo "no shot or block was finished within the time limit: give a longer --time, or more ranks," >&2
    echo "or save restart points inside long shots: [checkpoint] restart_every, [kirchhoff] save_every" >&2
    exit 75
fi
exit "$code\"""".splitlines()


def clock(seconds: int) -> str:
    """Return a time limit as Slurm writes it: days-hh:mm:ss, or hh:mm:ss."""
    minutes, s = divmod(seconds, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    return f"{days}-{h:02d}:{m:02d}:{s:02d}" if days else f"{h:02d}:{m:02d}:{s:02d}"


def seconds_of(text: str) -> int:
    """Return the seconds of a time limit as Slurm takes it: minutes, mm:ss, hh:mm:ss, days-hh, days-hh:mm[:ss].

    Raises
    ------
    ConfigError
        When it is none, or shorter than a minute (E786).
    """
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if match is not None:
        days = int(match[1] or 0)
        a, b, c = int(match[2]), int(match[3] or 0), int(match[4] or 0)
        if match[1] is not None or match[4] is not None:
            total = ((days * 24 + a) * 60 + b) * 60 + c
        else:
            total = a * 60 + b
        if total >= 60:
            return total
    raise _wrong(
        f"--time {text!r} is not a time limit of at least one minute", "write it as hh:mm:ss or days-hh:mm:ss"
    )


def plain_name(name: str) -> str:
    """Return a name that needs no quotation."""
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._-") or "subsalt"


def _no_percent(path: Path) -> str:
    """Return a folder in which Slurm finds no pattern."""
    return str(path).replace("%", "%%")


def sbatch_word(word: str) -> str:
    """Return a word as the option lines of sbatch need it: they know quotation marks and backslashes."""
    if re.fullmatch(r"[\w./=:,@%+-]+", word, flags=re.ASCII):
        return word
    return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"'


def _wrapped(words: Sequence[str], width: int = 100) -> list[str]:
    """Return words as lines that are not too long."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def _wrong(message: str, fix: str) -> ConfigError:
    error = ConfigError(message, fix, code="E786")
    error.exit_code = 2
    return error
