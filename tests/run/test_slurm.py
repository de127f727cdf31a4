"""The batch script: its options, its quotation, and what it does with signals and exit codes (srun is one of ours)."""

import os
import shlex
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from patience import PATIENCE, wait_for
from subsalt.errors import ConfigError
from subsalt.run.slurm import Batch, clock, seconds_of

PLAIN = Batch("salt", ["python", "-m", "subsalt"], Path("/data/salt"), Path("/data/salt/salt.run"), nodes=4)


def options(script):
    """Return the options that sbatch would read."""
    return [line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH ")]


def assert_bash_reads(script):
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_options_of_a_script():
    batch = replace(
        PLAIN,
        ranks_per_node=2,
        threads=8,
        memory_per_node=10**10,
        seconds=36 * 3600,
        partition="long",
        account="geo",
    )
    batch_options = options(batch.text())
    assert batch_options[:6] == [
        "--job-name=salt",
        "--nodes=4",
        "--ntasks-per-node=2",
        "--cpus-per-task=8",
        # 10^10 bytes are 9536.7 of Slurm's megabytes, rounded up to hundreds
        "--mem=9600M",
        "--time=1-12:00:00",
    ]
    assert {"--partition=long", "--account=geo", "--requeue", "--open-mode=append"} <= set(batch_options)
    assert "--signal=B:USR1@300" in batch_options
    assert "--output=/data/salt/salt-%j.log" in batch_options
    assert batch.ranks == 8
    assert_bash_reads(batch.text())


def test_whole_nodes_when_threads_are_left_out():
    script = replace(PLAIN, ranks_per_node=4).text()
    assert "--exclusive" in options(script)
    # without a limit of the job, files stay in the memory of the node that other jobs do not use
    assert "--mem=0" in options(script)
    assert "cpus=$((SLURM_CPUS_ON_NODE / 4))" in script
    assert_bash_reads(script)


def test_a_short_limit_has_a_short_notice():
    assert "--signal=B:USR1@60" in options(replace(PLAIN, seconds=600).text())


def test_ways_to_start_ranks():
    assert 'launch=(srun --mpi=pmi2 --cpus-per-task="$cpus" --kill-on-bad-exit=1)' in PLAIN.text()
    # the second start of a job must not find what its killed ranks left under the number of their step
    assert "k < ${SLURM_RESTART_COUNT:-0}; k++)); do srun --nodes=1 --ntasks=1 true; done" in PLAIN.text()
    assert "srun --mpi=pmix_v4 " in replace(PLAIN, starter="srun:pmix_v4").text()
    hydra = replace(PLAIN, starter="mpiexec", library="/opt/mpi lib/libmpi.so.12").text()
    assert 'launch=(mpiexec -n "$SLURM_NTASKS")' in hydra
    assert "SLURM_CPU_BIND=none" in hydra
    assert "export MPI4PY_LIBMPI='/opt/mpi lib/libmpi.so.12'" in hydra
    assert_bash_reads(hydra)


NASTY = '/a dir/it\'s $HOME; `id` "x" \\n %j #&|'


def test_paths_come_out_as_they_went_in():
    batch = replace(
        PLAIN,
        name="salt & pepper $(id)",
        command=["echo", NASTY, "--"],
        folder=Path(NASTY),
        more=[f"--comment={NASTY}"],
    )
    script = batch.text()
    assert_bash_reads(script)
    batch_options = options(script)
    assert "--job-name=salt_pepper_id" in batch_options
    # what sbatch reads: words in double quotation marks, with backslashes; patterns with % are doubled
    assert shlex.split(batch_options[-1]) == [f"--output={NASTY.replace('%', '%%')}/salt_pepper_id-%j.log"]
    assert [f"--comment={NASTY}"] in [shlex.split(o) for o in batch_options]
    words = script[script.index("command=(") :].split("\n", 1)[0]
    echoed = subprocess.run(
        ["bash", "-c", words + '\nprintf "%s\\n" "${command[@]}"'], capture_output=True, text=True
    )
    assert echoed.stdout.splitlines() == ["echo", NASTY, "--"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes": 0}, "--nodes 0"),
        ({"ranks_per_node": -1}, "--ranks-per-node -1"),
        ({"threads": 0}, "--threads 0"),
        ({"starter": "mpirun_rsh"}, "--mpi mpirun_rsh"),
        ({"starter": "srun:pmix; id"}, "--mpi srun:pmix; id"),
        ({"partition": "a b"}, "--partition 'a b'"),
        ({"account": "x\n#SBATCH --wrap=id"}, "--account"),
        ({"more": ["qos=long"]}, "--sbatch 'qos=long'"),
        ({"more": ["--comment=a\nid"]}, "--sbatch"),
        ({"folder": Path("/data/two\nlines")}, "control character"),
        ({"command": ["a\rb"]}, "control character"),
    ],
)
def test_what_makes_no_script_is_refused(change, words):
    with pytest.raises(ConfigError) as caught:
        replace(PLAIN, **change)
    assert (caught.value.code, caught.value.exit_code) == ("E786", 2)
    assert words in caught.value.message
    assert caught.value.fix


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("5:30", 330),
        ("01:02:03", 3723),
        ("2-00", 172800),
        ("1-02:03", 93780),
        ("1-02:03:04", 93784),
    ],
)
def test_time_limits_as_slurm_writes_them(text, seconds):
    assert seconds_of(text) == seconds
    assert seconds_of(clock(seconds)) == seconds


@pytest.mark.parametrize("text", ["", "0", "0:59", "1h", "1:2:3:4", "-5", "later"])
def test_no_time_limit(text):
    with pytest.raises(ConfigError, match="--time"):
        seconds_of(text)


# --- the script at work: srun, scontrol and the migration are small scripts on PATH ---

SRUN = """#!/bin/bash
# hands signals on, as srun does, and ends with the code of its program
while [[ $1 == --* ]]; do shift; done
"$@" & child=$!
trap 'kill -USR1 $child' USR1
trap 'kill -TERM $child' TERM
wait $child; code=$?
while kill -0 $child 2>/dev/null; do wait $child; code=$?; done
exit $code
"""
SCONTROL = """#!/bin/bash
echo "$*" >> "$FOLDER/scontrol.log"
"""
MIGRATION = """#!/bin/bash
# finishes a shot, then works on the next one for as long as it is let
mkdir -p "$FOLDER/run/images"
trap 'exit 75' USR1
trap 'exit 75' TERM
[[ -n ${SHOT:-} ]] && touch "$FOLDER/run/images/$SHOT"
point="$FOLDER/run/snapshots/shot_000001"
[[ -n ${POINT:-} ]] && mkdir -p "$point" && touch "$point/restart.r00.json"
[[ -n ${CODE:-} ]] && exit "$CODE"
touch "$FOLDER/at-work"
for k in {1..600}; do sleep 0.05; done
"""


@pytest.fixture
def cluster(tmp_path):
    """Return a function that starts the script: (process)."""
    folder = tmp_path / "it's here"
    folder.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("migration", MIGRATION)):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
    batch = replace(
        PLAIN, command=[str(tmp_path / "migration"), "a b"], folder=folder, run_dir=folder / "run", threads=2
    )
    script = tmp_path / "script"
    script.write_text(batch.text())

    def start(**variables):
        given = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "FOLDER": str(folder)}
        given |= {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "2", **variables}
        return subprocess.Popen(
            ["bash", str(script)],
            env={**os.environ, **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    start.folder = folder
    return start


def strike(cluster, number, **variables):
    """Start the script, send it a signal when it works; return (exit code, stdout, stderr, what scontrol got)."""
    process = cluster(**variables)
    wait_for(lambda: (cluster.folder / "at-work").exists() or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err, _asked(cluster)


def _asked(cluster):
    log = cluster.folder / "scontrol.log"
    return log.read_text() if log.exists() else ""


def test_before_the_limit_the_run_stops_and_is_queued_again(cluster):
    code, out, _, requeued = strike(cluster, signal.SIGUSR1, SHOT="one")
    assert (code, requeued) == (75, "requeue 7\n")
    assert "queued again" in out


def test_a_shot_that_came_to_a_restart_point_is_queued_again(cluster):
    code, _, _, requeued = strike(cluster, signal.SIGUSR1, POINT="one")
    assert (code, requeued) == (75, "requeue 7\n")


def test_who_is_stopped_by_hand_is_not_queued_again(cluster):
    """`subsalt stop` ends the program with 75 too, but nobody told the script that the time is over."""
    process = cluster(SHOT="one", CODE="75")
    process.communicate(timeout=PATIENCE)
    assert (process.returncode, _asked(cluster)) == (75, "")


def test_a_run_that_finishes_no_shot_is_not_queued_for_ever(cluster):
    code, _, err, requeued = strike(cluster, signal.SIGUSR1)
    assert (code, requeued) == (75, "")
    assert "give a longer --time" in err


def test_a_cancelled_job_is_not_queued_again(cluster):
    code, _, _, requeued = strike(cluster, signal.SIGTERM, SHOT="one")
    assert (code, requeued) == (75, "")


@pytest.mark.parametrize("code", [0, 65, 70])
def test_any_other_end_is_passed_on(cluster, code):
    process = cluster(SHOT="one", CODE=str(code))
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert _asked(cluster) == ""
