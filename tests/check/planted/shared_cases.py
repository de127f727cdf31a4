"""The cases of public reports in ``../shared/cases``: each with the job that is right, where a job can be."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planted.form import ANYWHERE, Form
from planted.images import Images
from planted.judge import Judge, Verdict, look
from planted.surveys import Case
from planted.truth import truth

#: where the cases are, beside the repository, or where the variable points
FOLDER = Path(
    os.environ.get("SUBSALT_SHARED_CASES", Path(__file__).resolve().parents[4] / "shared" / "cases")
)

#: a file as it should be, made of what the case has, in its folder
STRAIGHT = 'segy("ref.sgy", headers(), samples())'
NODES = (
    'rows = [np.frombuffer(open(f"Up_{n}.su", "rb").read(), "u1").reshape(97, -1)[:, 240:] for n in range(1, 10)]\n'
    's = np.ascontiguousarray(np.vstack(rows)).view("<f4")\n'
    'h = headers(); put(h, 41, -29000); segy("ref.sgy", h, s)'
)


@dataclass(frozen=True)
class Report:
    """A case.

    Parameters
    ----------
    says : str
        What the finding must name.
    right : callable
        ``right(job)`` mends the tables of the job.
    job : str or dict
        Its job file, or tables where ``subsalt init`` writes it.
    makes : str
        Lines of Python that make the file that is right.
    """

    says: str
    right: Callable[[dict], object]
    job: str | dict = "a.toml"
    makes: str = ""


def _put(section: str, **values):
    """Return a change that sets keys of a table."""
    return lambda job: job.setdefault(section, {}).update(values)


def _by_reference(job) -> None:
    """Read the file that is right, and nothing beside it."""
    job["data"] = {"files": "ref.sgy"}


def _job(files: str, **data) -> dict:
    return {"data": {"files": files, **data}, "model": {"vp": "vp.npz"}, "source": {"f0": 12}}


PLAIN = {
    "data": {"files": "f.sgy"},
    "model": {"vp": 1500.0},
    "grid": {"spacing": 10.0, "depth": 1200.0},
    "source": {"f0": 12},
}

#: by number: what is right, or why no cure of a job can be judged
CASES: dict[int, Report | str] = {
    1: Report("datum|origin|elevation|above", _put("model", vp={"file": "vp.npz", "origin": [0, -500]})),
    2: Report("float|IEEE", _by_reference, PLAIN, STRAIGHT),
    3: Report("nois|strong|amplitude", _put("data", exclude=[{"file": "run4/shot.sgy", "traces": "41-43"}])),
    5: Report(r"\by\b|depth", _by_reference, makes=NODES),
    7: Report("scalar", _put("data", fix={"scalar": 1, "elevation_scalar": 1}), _job("s.sgy")),
    8: Report("spacing", _put("model", vp="vp.npz")),
    9: "position files are read by scan; its text is in tests/io",
    10: Report("70000|samples", _put("data", fix={"ns": 70000}), _job("long.sgy", first_breaks="ignore")),
    11: "functions of Python have no job",
    12: Report("DATAPATH|absolute|folder", _put("model", vp="vp.npz")),
    14: Report("65576|two bytes|i2|channel", _by_reference, makes=STRAIGHT),
}


def case_verdict(number: int, root: Path, folder_of: Callable[[], Path]) -> Verdict | str:
    """Make a case, check it, paste every cure; the reason where it cannot be."""
    script = FOLDER / f"case_{number:02d}.py"
    row = CASES[number]
    if isinstance(row, str):
        return row
    if not script.is_file():
        return f"there is no {script.name} in ../shared/cases"
    folder = _made(script, row, root)
    tables = (
        tomllib.loads((folder / row.job).read_text()) if isinstance(row.job, str) else copy.deepcopy(row.job)
    )
    case = Case(folder, None, None, tables, [], name="survey.toml")
    clean = Case(folder, None, None, copy.deepcopy(tables), [], name="right.toml")
    row.right(clean.job)
    findings, job = look(clean)
    then = None if job is None else truth(job)
    form = Form(0, script.stem, "", "all", lambda c: None, [row.says], ANYWHERE, keeps=0.9)
    return Judge(form, clean, {f.code for f in findings}, then, case, folder_of, Images()).verdict()


def _made(script: Path, row: Report, root: Path) -> Path:
    """Run the script with a command that does nothing; return the folder of its files."""
    place = root / script.stem
    place.mkdir()
    # without the command's outputs it may fail at its end: its files are there by then
    settings = {**os.environ, "TMPDIR": str(place), "SUBSALT": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, str(script)], env=settings, cwd=FOLDER, capture_output=True, check=False)
    (folder,) = (p for p in place.glob("case-*/*") if p.is_dir())
    if row.makes:
        code = f"import os, numpy as np\nfrom mini import *\nos.chdir({str(folder)!r})\n{row.makes}"
        subprocess.run([sys.executable, "-c", code], env=settings, cwd=FOLDER, check=True)
    return folder
