"""Small surveys for the tests of whole runs on ranks: a line, and a volume, imaged by what looks beyond a plane."""

from pathlib import Path

LINE = """
[model]
vp = { z = [0, 240, 241, 400], value = [2000, 2000, 2400, 2400] }
[acquisition]
shots = { first = [100, 0], last = [500, 0], n = 5 }
receivers = { first = [0, 0], last = [600, 0], n = 61 }
record_length = 0.4
dt = 0.002
files = "per-shot"
[grid]
spacing = 10
shape = [61, 41]
[source]
f0 = 15
"""

VOLUME = """
[model]
vp = { z = [0, 120, 121, 240], value = [2000, 2000, 2400, 2400] }
epsilon = 0.1
delta = 0.05
[acquisition]
shots = { first = [60, 60, 0], last = [240, 60, 0], n = 3 }
receivers = { first = [23, 40, 10], last = [277, 80, 10], n = [14, 3] }
record_length = 0.16
dt = 0.002
files = "per-shot"
[grid]
spacing = [10, 10, 10]
shape = [31, 13, 25]
[source]
f0 = 18
"""

MIGRATE = """
[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
{model}
[output]
pictures = false
formats = ["segy", "rsf", "npz"]
[grid]
spacing = {spacing}
shape = {shape}
[source]
f0 = {f0}
[propagation]
grid = "model"
layer = 6
[imaging]
{imaging}
"""

#: what is imaged, by name: which survey, and the keys of [imaging]
IMAGING = {
    "line": ("line", "top_mute = 30"),
    "line by shot": ("line", 'illumination = "shot"\nfilter = "laplacian"\naperture = 150'),
    "volume": ("volume", 'filter = "laplacian"'),
    "volume by angle": ("volume", 'condition = "inverse-scattering"\nfilter = "laplacian"\naperture = 60'),
}


def write_jobs(folder: Path) -> None:
    """Write ``line/model.toml``, ``volume/model.toml`` and a job for each of `IMAGING` beside them."""
    for name, text in (("line", LINE), ("volume", VOLUME)):
        (folder / name).mkdir()
        (folder / name / "model.toml").write_text(text)
    for name, (survey, imaging) in IMAGING.items():
        flat = survey == "line"
        text = MIGRATE.format(
            model="" if flat else "epsilon = 0.1\ndelta = 0.05",
            spacing="10" if flat else "[10, 10, 10]",
            shape="[61, 41]" if flat else "[31, 13, 25]",
            f0=15 if flat else 18,
            imaging=imaging,
        )
        job_file(folder, name).write_text(text)


def job_file(folder: Path, name: str) -> Path:
    """Return the file of a migration job."""
    return folder / IMAGING[name][0] / f"{name.replace(' ', '_')}.toml"


def with_ranks(job: Path, ranks_per_shot: int | str) -> Path:
    """Return a copy of a job with `[parallel] ranks_per_shot`."""
    path = job.with_name(f"{job.stem}_{ranks_per_shot}.toml")
    value = f'"{ranks_per_shot}"' if isinstance(ranks_per_shot, str) else ranks_per_shot
    path.write_text(f"{job.read_text()}\n[parallel]\nranks_per_shot = {value}\n")
    return path


def results(run: Path) -> dict[str, bytes]:
    """Return the bytes of image files and partial images of a run, by name."""
    files = [*run.glob("image.*"), *run.glob("illumination.*"), *(run / "images").iterdir()]
    return {p.name: p.read_bytes() for p in files}
