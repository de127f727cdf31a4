"""Images from what a run has kept: the bytes of a fresh run, parts of it, and what is said when something lacks."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kept_case import keep_wavefields
from survey_case import job_of, make_survey

from patience import PATIENCE
from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError, DataError, MissingInputError
from subsalt.io.volumes import volume
from subsalt.methods.rtm.region import parse_region
from subsalt.methods.rtm.reimage import Wish, reimage_run
from subsalt.run.migrate import migrate_job
from thorough import sample

APERTURE = "[imaging]\naperture = 150\n"


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """A folder with a run of source-normalised shots on windows, whose wavefields are all kept."""
    folder = make_survey(tmp_path_factory.mktemp("survey"))
    migrate_job(job_of(folder, more=APERTURE), folder / "run")
    keep_wavefields(job_of(folder, more=APERTURE), folder / "run")
    return folder


@pytest.fixture(scope="module")
def fresh(survey):
    """Return a function that gives the directory of a run that propagates what is wished for, made once."""
    made: dict[tuple[str, str | None], Path] = {}

    def run_of(wish: Wish) -> Path:
        job = wish.job(job_of(survey, more=APERTURE))
        what = job.resolved_toml(), wish.shots
        if what not in made:
            made[what] = survey / f"fresh{len(made)}"
            migrate_job(job, made[what])
        return made[what]

    return run_of


def sha256_of(run: Path) -> str:
    """Return the hash of the image of a run."""
    return json.loads((run / "run.json").read_text())["image"]["sha256"]


@pytest.mark.parametrize(
    "wish",
    [
        Wish(condition="inverse-scattering", top_mute="30 m"),
        Wish(condition="cross-correlation", filter="laplacian"),
        Wish(illumination="shot", normalise=0.03),
        Wish(shots="1, 3"),
    ],
    ids=lambda w: ", ".join(w.said()),
)
@pytest.mark.parametrize("wavefields", [False, True], ids=["partial images", "wavefields"])
def test_a_new_image_has_the_bytes_of_a_fresh_run(survey, fresh, tmp_path, wish, wavefields):
    """The whole SEG-Y file, the run id in its header included."""
    wish = Wish(**{**vars(wish), "wavefields": wavefields})
    said = []
    new = reimage_run(survey / "run", tmp_path / "new", wish, say=said.append)
    assert new.point_steps == 0
    assert new.sha256 == sha256_of(fresh(wish))
    assert f"from {'kept wavefields' if wavefields else 'partial images'}" in said[0]
    facts = json.loads((tmp_path / "new" / "run.json").read_text())
    source = json.loads((survey / "run" / "run.json").read_text())
    assert facts["reimage"]["run_id"] == source["run_id"]
    assert facts["state"] == "finished"
    partials = [sorted((run / "images").iterdir()) for run in (tmp_path / "new", fresh(wish))]
    assert [p.read_bytes() for p in partials[0]] == [p.read_bytes() for p in partials[1]]


def test_coarser_samples_are_those_of_a_fresh_run(survey, fresh, tmp_path):
    step = json.loads((survey / "run" / "run.json").read_text())["image_step"]
    wish = Wish(image_step=2 * step)
    assert reimage_run(survey / "run", tmp_path / "new", wish).sha256 == sha256_of(fresh(wish))
    wish = Wish(image_step=step + 1)
    with pytest.raises(ConfigError, match=f"samples every {step} time steps") as caught:
        reimage_run(survey / "run", tmp_path / "other", wish)
    assert caught.value.code == "E864"
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("condition", ["source-normalised", "inverse-scattering"])
def test_a_region_is_the_crop_of_the_whole_image(survey, tmp_path, condition):
    """Also where an image looks at neighbours, or is divided by a mean over the whole of it."""
    wish = Wish(condition=condition, filter="laplacian", top_mute=20)
    text = "120:350,40:300"
    reimage_run(survey / "run", tmp_path / "whole", wish)
    reimage_run(survey / "run", tmp_path / "part", Wish(**{**vars(wish), "region": text}))
    whole, part = (volume.read(tmp_path / n / "image.rsf") for n in ("whole", "part"))
    box = parse_region(text, whole.grid)
    assert part.grid == whole.grid.window(box)
    assert part.grid == Grid((24, 27), (10.0, 10.0), (120.0, 40.0))
    cut = whole.values.reshape(whole.grid.shape3)[box.slices].reshape(part.grid.shape)
    assert part.values.tobytes() == np.ascontiguousarray(cut).tobytes()
    facts = json.loads((tmp_path / "part" / "run.json").read_text())
    assert facts["grid"] == {"shape": [24, 27], "spacing": [10.0, 10.0], "origin": [120.0, 40.0]}
    assert facts["run_id"] != json.loads((tmp_path / "whole" / "run.json").read_text())["run_id"]
    # another part of the same sums in the same directory computes none of them again
    again = reimage_run(survey / "run", tmp_path / "part", Wish(**{**vars(wish), "region": "0:50,0:50"}))
    assert "kept wavefields" not in again.phases
    assert volume.read(tmp_path / "part" / "image.rsf").grid.shape == (6, 6)


def test_images_of_parts_of_the_time_add_up(survey, tmp_path):
    """The correlation is a sum over samples: two parts are the whole, to rounding."""
    facts = json.loads((survey / "run" / "run.json").read_text())
    step, last = facts["image_step"] * facts["dt"], facts["nt"] * facts["dt"]
    middle = (np.floor(0.5 * last / step) + 0.5) * step
    images = {}
    for name, times in {"all": None, "early": (-1.0, middle), "late": (middle, last)}.items():
        reimage_run(survey / "run", tmp_path / name, Wish(condition="cross-correlation", times=times))
        images[name] = volume.read(tmp_path / name / "image.rsf").values
    assert min(np.abs(a).max() for a in images.values()) > 0
    # a hundred additions of float32 at most, and three shots
    bound = 100 * np.finfo(np.float32).eps * 3 * max(np.abs(a).max() for a in images.values())
    assert np.abs(images["early"] + images["late"] - images["all"]).max() <= bound


def test_what_partial_images_lack_comes_from_the_source_wavefield_alone(survey, fresh, tmp_path):
    plain = job_of(survey, more=APERTURE).changed("imaging", condition="cross-correlation")
    run = tmp_path / "run"
    migrate_job(plain, run)
    wish = Wish(condition="source-normalised")
    with pytest.raises(ConfigError, match="has not kept the source wavefield of its shots") as caught:
        reimage_run(run, tmp_path / "new", wish)
    assert caught.value.code == "E861"
    assert 'keep = "both"' in caught.value.fix
    assert not (tmp_path / "new").exists()
    keep_wavefields(plain, run, ("source",))
    assert reimage_run(run, tmp_path / "new", wish).sha256 == sha256_of(fresh(wish))
    with pytest.raises(ConfigError, match="has not kept the receiver wavefield"):
        reimage_run(run, tmp_path / "all", Wish(condition="inverse-scattering", wavefields=True))


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "other"])
def test_a_damaged_wavefield_is_named_and_the_others_go_on(survey, tmp_path, damage):
    run = tmp_path / "run"
    shutil.copytree(survey / "run", run)
    (file,) = (run / "snapshots" / "shot_000002").glob("receiver.*.snap")
    index = file.with_suffix(".json")
    if damage == "flip":
        data = bytearray(file.read_bytes())
        data[5000] ^= 4  # behind the page of the first record's header
        file.write_bytes(data)
    elif damage == "truncate":
        os.truncate(file, 5000)
    elif damage == "remove":
        file.unlink()
    else:
        index.write_text(index.read_text().replace('"dt"', ' "dt"'))
    result = reimage_run(run, tmp_path / "new", Wish(wavefields=True))
    assert (result.shots_done, result.shots_failed) == ([1, 3], [2])
    facts = json.loads((tmp_path / "new" / "run.json").read_text())
    reason = next(r["reason"] for r in facts["shots"] if r["id"] == 2)
    assert "receiver" in reason
    assert "shot 2" in reason
    assert 'keep = "both"' in reason
    # its sums are in the partial image still
    whole = reimage_run(run, tmp_path / "sums", Wish())
    assert whole.shots_failed == []
    # and it is there again
    shutil.copytree(survey / "run" / "snapshots", run / "snapshots", dirs_exist_ok=True)
    assert reimage_run(run, tmp_path / "new", Wish(wavefields=True)).sha256 == whole.sha256


def test_a_damaged_partial_image_is_summed_from_the_wavefields(survey, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(survey / "run", run)
    whole = reimage_run(run, tmp_path / "before", Wish())
    (run / "images" / "shot_000001.planes").write_bytes(b"")
    said = []
    assert reimage_run(run, tmp_path / "new", Wish(), say=said.append).sha256 == whole.sha256
    assert "2 from partial images" in said[0]
    assert "1 from kept wavefields" in said[0]


#: kills itself at a share of its file operations, then goes on; prints the hash and what was computed
KILLED = """
import os, signal, sys
from pathlib import Path
from subsalt.io.faults import FaultCounter, set_fault
from subsalt.methods.rtm.reimage import Wish, reimage_run
import subsalt.methods.rtm.earth_model, subsalt.kernels.cpu, subsalt.report, subsalt.io.segy, subsalt.run.facts
source, target = Path(sys.argv[1]), Path(sys.argv[2])
wish = Wish(condition="cross-correlation", wavefields=True)
# once here: what is imported and compiled by then no fork has to
reimage_run(source, target / "warm", wish)

def forked(k, folder):
    child = os.fork()
    if child == 0:
        counter = FaultCounter()
        def hook(operation, path, nbytes):
            if operation == "read":
                return
            counter(operation, path, nbytes)
            if counter.count == k:
                os.kill(os.getpid(), signal.SIGKILL)
        set_fault(hook)
        result = reimage_run(source, folder, wish)
        os.write(1, f"{k} {result.sha256} {counter.count}\\n".encode())
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

k, struck = 2, True
while struck:
    struck = forked(k, target / str(k)) == -9
    if struck:
        assert forked(0, target / str(k)) == 0
    k += int(sys.argv[3])
"""


def test_killed_at_file_operations_it_goes_on_to_the_same_bytes(survey, fresh, tmp_path):
    command = [sys.executable, "-c", KILLED, str(survey / "run"), str(tmp_path), str(sample(90, 47))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len([k for k, *_ in lines if k == "0"]) >= sample(3, 5)
    assert {sha for _, sha, _ in lines} == {sha256_of(fresh(Wish(condition="cross-correlation")))}


def test_wrong_wishes_are_refused(survey, tmp_path):
    run = survey / "run"
    wrong = [
        (tmp_path / "none", Wish(), MissingInputError, "E110"),
        (survey / "shots", Wish(), MissingInputError, "E110"),
        (run, Wish(region="1e5:2e5,0:100"), ConfigError, "E862"),
        (run, Wish(times=(2.0, 1.0)), ConfigError, "E864"),
    ]
    for source, wish, kind, code in wrong:
        with pytest.raises(kind) as caught:
            reimage_run(source, tmp_path / "new", wish)
        assert caught.value.code == code
        assert not (tmp_path / "new").exists()
    with pytest.raises(ConfigError, match="itself") as caught:
        reimage_run(run, survey / "." / "run", Wish())
    assert caught.value.code == "E864"
    # a directory of something else
    reimage_run(run, tmp_path / "a", Wish(times=(0.0, 0.2)))
    with pytest.raises(ConfigError, match="another job") as caught:
        reimage_run(run, tmp_path / "a", Wish(times=(0.0, 0.1)))
    assert caught.value.code == "E810"
    assert "with -o" in caught.value.fix


def test_shots_that_the_run_has_not_finished_are_holes(survey, fresh, tmp_path):
    job = job_of(survey, more=APERTURE)
    run = tmp_path / "run"

    def stop(done: float, total: float, message: str = "") -> None:
        if done > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(job, run, stop)
    result = reimage_run(run, tmp_path / "new", Wish(condition="inverse-scattering"))
    assert (result.shots_done, result.shots_failed) == ([1], [2, 3])
    facts = json.loads((tmp_path / "new" / "run.json").read_text())
    assert f"planned in {run}" in facts["shots"][1]["reason"]
    # when it has finished, the same call makes the whole image
    migrate_job(job, run)
    whole = reimage_run(run, tmp_path / "new", Wish(condition="inverse-scattering"))
    assert whole.shots_failed == []
    assert whole.sha256 == sha256_of(fresh(Wish(condition="inverse-scattering")))


def test_nothing_finished_is_said(survey, tmp_path):
    run = tmp_path / "run"

    def stop(done: float, total: float, message: str = "") -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate_job(job_of(survey), run, stop)
    with pytest.raises(DataError, match="no finished shot") as caught:
        reimage_run(run, tmp_path / "new", Wish())
    assert caught.value.code == "E861"


def test_planes_of_ranks_are_cut_to_a_region():
    from subsalt.methods.rtm.image import ImagePlanes

    grid = Grid((9, 4), (1.0, 1.0))
    image = np.arange(36, dtype=np.float32).reshape(grid.shape)
    region = Box((3, 0, 1), (7, 1, 3))
    for cuts in ([0, 9], [0, 4, 9], [0, 2, 5, 6, 9], [0, 3, 7, 9]):
        parts = [
            ImagePlanes(lo, image[lo:hi], image[lo:hi]).inside(region) for lo, hi in itertools.pairwise(cuts)
        ]
        assert np.concatenate([p.image for p in parts]).tolist() == image[3:7, 1:3].tolist()
        ends = [p.first + len(p.image) for p in parts]
        assert [p.first for p in parts[1:]] == ends[:-1]
        assert all(np.array_equal(p.image, p.illumination) for p in parts)
