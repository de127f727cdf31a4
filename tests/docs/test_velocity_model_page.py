"""The page on velocity models makes a model that a job reads, with the velocities that its picks imply."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import subsalt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "velocity-model.md"


def test_the_model_of_the_page_follows_from_its_picks(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (tmp_path / "model.py").write_text(code, encoding="utf-8")
    subprocess.run([sys.executable, "model.py"], cwd=tmp_path, check=True)
    volume = subsalt.open_volume(tmp_path / "vp.npz", key="vp")
    assert volume.grid.shape == (161, 201)
    assert volume.grid.spacing == (25.0, 10.0)
    vp = np.load(tmp_path / "vp.npz")["vp"]
    assert (vp[:, :29] == 1480).all()
    # the last interval of the first position by Dix
    last = np.sqrt((2200**2 * 2.2 - 1950**2 * 1.6) / 0.6)
    assert abs(vp[0, -1] - last) < 0.01 * last
