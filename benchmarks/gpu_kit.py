"""Pack what gpu_first.py needs on a machine with a GPU and without a network: wheels, and the plug-in for the GPU.

    make cuda && python benchmarks/gpu_kit.py KIT       # here, once
    python3 benchmarks/gpu_first.py OUT --kit KIT       # there, from a copy of this source tree

A wheel is an archive of importable files: there they are unpacked into one folder on PYTHONPATH, which needs neither
pip nor a virtual environment. Compiled modules belong to one version of Python on x86-64 Linux: the one that packed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = "libsubsalt_cuda.so"
#: what subsalt, its lab and the device tests import
NEEDED = ("numpy", "scipy", "matplotlib", "segyio", "pydantic", "typer", "rich", "tomlkit", "jinja2")
TESTED = ("pytest", "pytest-xdist", "hypothesis")


def tag() -> str:
    """Return for which Python compiled modules are, such as ``cpython-311-x86_64-linux-gnu``."""
    return str(sysconfig.get_config_var("SOABI"))


def pack(kit: Path) -> None:
    """Fill a folder with wheels of this tree and of what it needs, and with the plug-in."""
    plugin = Path(sysconfig.get_path("platlib")) / "subsalt" / PLUGIN
    if not plugin.is_file():
        raise SystemExit(f"{plugin} is not there: build it with make cuda")
    if kit.exists():
        raise SystemExit(f"{kit} exists; remove it, or give another folder")
    kit.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    ours = [str(ROOT), str(ROOT / "packages" / "lab")]
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(kit), *ours], check=True
    )
    pinned = ["-c", str(ROOT / "constraints.txt"), "--only-binary", ":all:"]
    subprocess.run([*pip, "download", "-q", "-d", str(kit), *pinned, *NEEDED, *TESTED], check=True)
    shutil.copy(plugin, kit / PLUGIN)
    (kit / "kit.json").write_text(json.dumps({"python": tag()}) + "\n")
    size = sum(f.stat().st_size for f in kit.iterdir())
    print(f"{kit}: {len(list(kit.glob('*.whl')))} wheels and the plug-in, {size / 1e6:.0f} MB, for {tag()}")


def unpack(kit: Path, target: Path) -> dict[str, str]:
    """Unpack a kit, unless that is done, and return the environment in which Python finds it.

    Raises
    ------
    SystemExit
        When the folder is no kit, or one for another Python.
    """
    facts = kit / "kit.json"
    if not facts.is_file():
        raise SystemExit(f"{kit} is no kit: pack one with python benchmarks/gpu_kit.py KIT")
    packed_for = json.loads(facts.read_text())["python"]
    if packed_for != tag():
        raise SystemExit(
            f"{kit} was packed for {packed_for}, this Python is {tag()}: start that one, or pack again"
        )
    done = target / "unpacked"
    if not done.is_file():
        shutil.rmtree(target, ignore_errors=True)
        for wheel in sorted(kit.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target)
        shutil.copy(kit / PLUGIN, target / "subsalt" / PLUGIN)
        done.touch()
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(target), *([before] if before else [])])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kit", type=Path, help="folder to be made")
    pack(parser.parse_args().kit.resolve())
