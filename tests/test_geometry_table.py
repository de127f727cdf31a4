"""Recorded shots whose geometry stands in CSV tables."""

import dataclasses

import numpy as np
import pytest

from job_files import MIGRATE, survey, write_files, write_job
from subsalt.errors import GeometryError
from subsalt.io.segy.writing import write_survey
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job

TABLES = MIGRATE.replace('line = "2d"', 'geometry = {shots = "s.csv", receivers = "r.csv"}')


@pytest.fixture
def folder(tmp_path):
    """Return a folder with shots whose headers hold nonsense positions, and tables with the right ones."""
    write_files(tmp_path)
    right = survey()
    wrong = dataclasses.replace(
        right, shots=[dataclasses.replace(s, src=s.src + 1e5, rcv=s.rcv[::-1] * 7.0) for s in right.shots]
    )
    write_survey(tmp_path / "shots.sgy", wrong)
    with (tmp_path / "s.csv").open("w") as file:
        file.write("shot,sx,sy,sz\n")
        file.writelines(f"{s.id},{s.src[0]},0,{s.src[2]}\n" for s in right.shots)
    with (tmp_path / "r.csv").open("w") as file:
        file.write("shot,chan,gx,gy,gz\n")
        for s in right.shots:
            file.writelines(f"{s.id},{c},{p[0]},{p[1]},{p[2]}\n" for c, p in enumerate(s.rcv, 1))
    return tmp_path


def test_positions_come_from_the_tables(folder):
    loaded = Job.from_toml(write_job(folder, TABLES)).load_survey()
    right = survey()
    assert loaded.ndim == 2
    for a, b in zip(loaded.shots, right.shots, strict=True):
        np.testing.assert_array_equal(a.src, b.src)
        np.testing.assert_array_equal(a.rcv, b.rcv)
        np.testing.assert_array_equal(loaded.traces(a), b.data)


def test_the_tables_count_for_the_run_id(folder):
    job = Job.from_toml(write_job(folder, TABLES))
    before = job.run_id()
    (folder / "s.csv").write_text((folder / "s.csv").read_text().replace("15.0", "16.0"))
    assert job.run_id() != before


def test_shot_points_of_lines_join_as_well(folder):
    """Two lines of one shot point each, told apart by the job; the headers have shot points alone (byte 17)."""
    right = survey()
    data = bytearray((folder / "shots.sgy").read_bytes())
    size = 240 + 4 * 151
    for k in range(45):
        data[3600 + k * size + 16 : 3600 + k * size + 20] = (1 + k // 15).to_bytes(4, "big")
    (folder / "shots.sgy").write_bytes(data)
    for name in ("s.csv", "r.csv"):
        first, *rows = (folder / name).read_text().splitlines()
        other = [f"8,{row.replace(',', ',9', 1)}" for row in rows]
        text = [first.replace("shot", "line,point"), *(f"7,{row}" for row in rows), *other]
        (folder / name).write_text("\n".join(text))
    with pytest.raises(GeometryError, match="2 lines") as caught:
        Job.from_toml(write_job(folder, TABLES)).load_survey()
    assert caught.value.code == "E369"
    said = TABLES.replace('"r.csv"', '"r.csv", lines = {"shots*" = "7"}')
    loaded = Job.from_toml(write_job(folder, said)).load_survey()
    for a, b in zip(loaded.shots, right.shots, strict=True):
        np.testing.assert_array_equal(a.src, b.src)
        np.testing.assert_array_equal(a.rcv, b.rcv)


def test_a_check_is_content_with_them(folder):
    result = check_job(Job.from_toml(write_job(folder, TABLES)))
    assert not result.has_errors, result.findings


@pytest.mark.parametrize(("table", "code"), [("s.csv", "E307"), ("r.csv", "E308")])
def test_missing_lines_are_named(folder, table, code):
    lines = (folder / table).read_text().splitlines()
    (folder / table).write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(GeometryError) as caught:
        Job.from_toml(write_job(folder, TABLES)).load_survey()
    assert caught.value.code == code
    assert "shot 3" in caught.value.message


def test_a_line_at_an_angle_is_projected(folder):
    text = (folder / "r.csv").read_text().splitlines()
    turned = [text[0]]
    for line in text[1:]:
        shot, chan, x, _, z = line.split(",")
        turned.append(f"{shot},{chan},{float(x) * 0.6},{float(x) * 0.8},{z}")
    (folder / "r.csv").write_text("\n".join(turned) + "\n")
    lines = (folder / "s.csv").read_text().splitlines()
    turned = [lines[0]]
    for line in lines[1:]:
        shot, x, _, z = line.split(",")
        turned.append(f"{shot},{float(x) * 0.6},{float(x) * 0.8},{z}")
    (folder / "s.csv").write_text("\n".join(turned) + "\n")
    loaded = Job.from_toml(write_job(folder, TABLES)).load_survey()
    assert loaded.ndim == 2
    # distances along the line are those of the straight survey
    for a, b in zip(loaded.shots, survey().shots, strict=True):
        np.testing.assert_allclose(np.abs(a.offset), b.offset, atol=1e-5)
