"""What subsalt makes today is what stands in the record: bytes of images, options, keys of JSON, exit codes.

A change that moves code leaves all of it equal. One that changes bytes on purpose says so in the CHANGELOG and writes
the record anew (``python tests/record --write``).
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import pytest
from launch import MPI, run
from PIL import Image

from patience import PATIENCE

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from jobs import (  # noqa: E402
    BACKWARDS,
    LEAST_SQUARES,
    MIGRATIONS,
    OTHER_WAYS,
    SURVEYS,
    TIME_MIGRATIONS,
    Jobs,
    digest,
    image_of,
)
from words import exit_codes, json_keys, options  # noqa: E402

from subsalt import doctor  # noqa: E402
from subsalt.errors import ConfigError  # noqa: E402
from subsalt.io.volumes import volume  # noqa: E402
from subsalt.kernels import cpu  # noqa: E402
from subsalt.methods.kirchhoff import memory  # noqa: E402
from subsalt.methods.kirchhoff.memory import cut  # noqa: E402
from subsalt.methods.rtm.job import Job  # noqa: E402
from subsalt.run.ledger_file import peek  # noqa: E402
from subsalt.run.migrate import migrate_job  # noqa: E402
from subsalt.view import style  # noqa: E402
from thorough import ALL, some, thorough  # noqa: E402

RECORD = json.loads((HERE / "record.json").read_text())
IMAGES = RECORD["images"].get(str(cpu.describe()["class"]), {})
recorded = pytest.mark.skipif(not IMAGES, reason="nothing is recorded for this numerics class")


OWN = "tti 2-D, waves on a grid of their own"

#: volumes whose ranks have blocks, by number of ranks: every medium, backwards, and on a grid of its own; the
#: first of each number of ranks is tried in ``make test``
BLOCKS = {
    4: (
        "vti 3-D",
        "tti 3-D",
        "vti 3-D, boundary",
        "vti 3-D, 16-bit model",
        "vti 3-D, waves on a grid of their own",
    ),
    3: ("tti 3-D, fitted stencil", "vti 3-D, inverse scattering"),
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    return Jobs(tmp_path_factory.mktemp("record"))


@pytest.fixture(autouse=True)
def no_rates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plan has more to say where this machine was measured."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@recorded
def test_images_are_those_of_the_record(jobs: Jobs) -> None:
    """A third of the migrations in depth in ``make test``, all of them in ``make test-all``."""
    every = list(MIGRATIONS | BACKWARDS)
    names = every if ALL else every[::3]
    hashes = {name: jobs.image(name) for name in names}
    hashes |= {name: jobs.time_image(name) for name in TIME_MIGRATIONS}
    hashes |= {name: jobs.least_squares_image(name) for name in LEAST_SQUARES}
    hashes |= {f"traces of the {name}": jobs.traces(name) for name in SURVEYS}
    assert {n: h for n, h in hashes.items() if h != IMAGES.get(n)} == {}
    assert set(hashes) == set(IMAGES) - set(every) | set(names)
    assert set(every) <= set(IMAGES)


@recorded
@pytest.mark.parametrize("name", some(OTHER_WAYS, 2))
def test_ways_through_memory_and_disk_change_nothing(jobs: Jobs, name: str) -> None:
    assert jobs.image(name) == IMAGES[OTHER_WAYS[name][0]]


@recorded
def test_blocks_of_an_image_change_nothing(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(shape, classes, nt, most=None, ranks=1, **more):
        return cut(shape, classes, nt, 60_000, ranks, **more)

    monkeypatch.setattr(memory, "cut", small)
    (tmp_path / "blocks").mkdir()
    assert Jobs(tmp_path / "blocks").time_image("kirchhoff 3-D") == IMAGES["kirchhoff 3-D"]
    facts = json.loads((tmp_path / "blocks" / "kirchhoff_3-D" / "run" / "run.json").read_text())
    assert len(facts["blocks"]) > 1


@recorded
def test_a_run_of_version_0_7_goes_on(tmp_path: Path) -> None:
    """Two of five shots of ``vti 2-D`` were done by 0.7.0, under another folder, when it was stopped."""
    with tarfile.open(HERE / "run-0.7.0.tar.xz") as packed:
        packed.extractall(tmp_path)
    job = tmp_path / "line" / "job.toml"
    # it had one kind of weights; a job that names the other is another one
    changed_job = Job.from_toml(job).changed("propagation", stencil="fitted")
    with pytest.raises(ConfigError, match=r"job\.propagation\.stencil: taylor -> fitted"):
        migrate_job(changed_job, job.with_suffix(".run"))
    said: list[str] = []
    done = migrate_job(Job.from_toml(job), say=said.append)
    assert [s for s in said if "stencil = 'taylor'" in s]
    # on the grid of its model nothing is to say of a depth axis, and it has none
    assert not [s for s in said if "depth_axis" in s]
    facts = json.loads((job.with_suffix(".run") / "run.json").read_text())
    assert (facts["job"]["propagation"]["grid"], facts["grid"].get("depth_axis")) == ("model", None)
    assert digest(volume.read(done.image).values) == IMAGES["vti 2-D"]
    rows = peek(job.with_suffix(".run"))
    assert {r["state"] for r in rows} == {"done"}
    # it was stopped in the third shot; what was done before is not done again
    assert [r["attempt"] for r in rows] == [1, 1, 2, 1, 1]


#: what a process of its own, or every rank of a group, runs
PROGRAM = """
    import sys
    sys.path.insert(0, {here!r})
    from pathlib import Path
    from jobs import image_of
    for name, job in {jobs!r}.items():
        print(name, image_of(Path(job), {run!r}), sep="|")
"""


def said(lines: str) -> dict[str, str]:
    return dict(line.split("|") for line in lines.splitlines())


@recorded
@pytest.mark.parametrize("ranks", some([3, 2], 1))
def test_ranks_change_nothing(jobs: Jobs, ranks: int) -> None:
    for marks in MPI:
        if marks.name == "skipif" and marks.args[0]:
            pytest.skip(str(marks.kwargs["reason"]))
    # a volume on ranks: below
    names = some((OWN, "vti 3-D", "iso 2-D", "tti 3-D"), 1)
    files = {name: str(jobs.job(name)) for name in names}
    done = run(ranks, PROGRAM.format(here=str(HERE), jobs=files, run=f"-{ranks}"))
    assert done.rc == 0, done
    for out in done.out:
        assert said(out) == {name: IMAGES[name] for name in files}, done


@recorded
@pytest.mark.parametrize(("ranks", "decomp"), [(4, [2, 2]), pytest.param(3, [1, 3], marks=thorough)])
def test_blocks_change_nothing(jobs: Jobs, ranks: int, decomp: list[int]) -> None:
    for marks in MPI:
        if marks.name == "skipif" and marks.args[0]:
            pytest.skip(str(marks.kwargs["reason"]))
    files = {}
    for name in some(BLOCKS[ranks], 1):
        files[name] = jobs.job(name).with_name(f"{name} on {ranks}.toml")
        files[name].write_text(f"{jobs.job(name).read_text()}[parallel]\nthreads = 1\ndecomp = {decomp}\n")
    done = run(
        ranks, PROGRAM.format(here=str(HERE), jobs={n: str(f) for n, f in files.items()}, run="-blocks")
    )
    assert done.rc == 0, done
    for out in done.out:
        assert said(out) == {name: IMAGES[name] for name in files}, done


@recorded
@pytest.mark.parametrize("isa", ["v3", "v4"])
def test_instruction_sets_change_nothing(jobs: Jobs, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if isa not in cpu.available():
        pytest.skip(f"this processor has no {isa}")
    monkeypatch.setenv("SUBSALT_ISA", isa)
    # what is chosen anyway has made all the images above
    few = 1 if isa == cpu.available()[-1] else 2
    names = some((OWN, "tti 2-D", "vti 3-D, 16-bit model", "vti 3-D"), few)
    files = {name: str(jobs.job(name)) for name in names}
    text = textwrap.dedent(PROGRAM.format(here=str(HERE), jobs=files, run=f"-{isa}"))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert said(done.stdout) == {name: IMAGES[name] for name in files}


@recorded
@thorough  # a device has the files of the processor: tests/cuda/test_jobs_on_device.py
@pytest.mark.parametrize("name", ["iso 2-D", "vti 3-D", OWN])
def test_a_gpu_changes_nothing(jobs: Jobs, name: str, emulated) -> None:
    job = jobs.job(name)
    job.write_text(job.read_text() + '[parallel]\ndevice = "cuda"\n')
    assert image_of(job, "-gpu") == IMAGES[name]


def test_options_of_the_commands() -> None:
    assert options() == RECORD["options"]


def test_keys_of_json(subsalt_command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the command `doctor` without its work (tests/test_doctor.py)
    monkeypatch.setattr(doctor, "write_speed", lambda folder: 1.0)
    monkeypatch.setattr(doctor, "dot_product", lambda: (True, ""))
    monkeypatch.setattr(doctor, "restart_identity", lambda: (True, ""))
    # all pictures are one of a single point: nobody looks at them
    drawn = io.BytesIO()
    Image.new("RGB", (1, 1)).save(drawn, "PNG")
    monkeypatch.setattr(style, "png_bytes", lambda fig, facts: drawn.getvalue())
    by_command = json_keys(subsalt_command, Jobs(tmp_path))
    for name, keys in RECORD["json"].items():
        assert by_command[name] == keys, name
    assert set(by_command) == set(RECORD["json"])


def test_exit_codes(subsalt_command, tmp_path: Path) -> None:
    assert exit_codes(subsalt_command, tmp_path) == RECORD["exits"]
