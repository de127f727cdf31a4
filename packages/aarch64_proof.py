"""Cross-compile the kernels for 64-bit ARM, run them under QEMU, and compare their bytes with those of x86-64.

    sudo python packages/aarch64_proof.py [--only PART] [--kept] [--json FILE]

The jobs of tests/record, of every medium, boundary and kind of migration, and the quick demo are run by the Python of
an ARM Debian with NumPy and SciPy for ARM. Their hashes must be those that v3 and v4 gave: NEON has fused multiply-adds
too. QEMU computes what the processor would, instruction by instruction, so nothing here says how fast an ARM processor
is. ``--only "2-D"`` takes the jobs with that in their names, and no demo.

The jobs take minutes under QEMU, the demo more than an hour. Each result is kept in build/aarch64/results as soon as
it is known, for the kernels, sources, jobs and emulator that it comes from, and so is each shot of the demo: a run that
was stopped goes on, and ``--kept`` runs nothing and reports what is there.

debootstrap fetches the Debian (it wants to be root) and nothing of it is installed or started: its packages are
unpacked, and QEMU looks for libraries there. It is kept, with what is compiled, in build/aarch64.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "aarch64"
SYSTEM, SITE, TREE, RESULTS = WORK / "debian", WORK / "site", WORK / "tree", WORK / "results"
RECORD = ROOT / "tests" / "record"
#: what Debian 12 brings, and how its modules end
SUITE, PYTHON, SUFFIX = "bookworm", "3.11", ".cpython-311-aarch64-linux-gnu.so"
PACKAGES = ("python3", f"libpython{PYTHON}-dev", "libgomp1", "libstdc++6")
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux2014_aarch64")
PROGRAMS = {
    "debootstrap": "debootstrap",
    "dpkg-deb": "dpkg",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64-static": "qemu-user-static",
}
#: numerics class of multiply-adds that are rounded once
CLASS = "fma"


def main() -> int:
    """Prove it, and return 0; 1 when a hash is another."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--only", default="", help="part of the names of the jobs to run")
    options.add_argument("--kept", action="store_true", help="report what was kept; run nothing")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    look_for_programs()
    unpack_debian()
    install_packages()
    compile_kernels()
    results = Results(identity())
    if not given.kept:
        run_jobs(results, given.only)
        if not given.only:
            run_demo(results)
    report = compared(results.images(), results.demo(), given.only, given.kept)
    if given.json:
        given.json.write_text(json.dumps(report | {"identity": results.folder.name}, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "images"}, indent=1))
    return 1 if report["wrong"] else 0


class Results:
    """What was computed under QEMU with one build: a file with a line for each image, and one of the demo."""

    def __init__(self, identity: str, folder: Path = RESULTS) -> None:
        self.folder = folder / identity
        self.folder.mkdir(parents=True, exist_ok=True)
        self.image_lines = self.folder / "images.jsonl"
        self.demo_file = self.folder / "demo.json"

    def images(self) -> dict[str, dict[str, Any]]:
        """Return name, hash and seconds of each image that was computed, by its name."""
        lines = self.image_lines.read_text("utf-8").splitlines() if self.image_lines.exists() else []
        return {row["name"]: row for row in map(json.loads, lines)}

    def demo(self) -> dict[str, Any] | None:
        """Return what the demo said; None when it was not run to its end."""
        return json.loads(self.demo_file.read_text("utf-8")) if self.demo_file.exists() else None


def look_for_programs() -> None:
    """End where a program is missing, or the right to use it."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None]
    if missing:
        sys.exit(f"the proof needs more programs: apt-get install {' '.join(missing)}")
    if os.geteuid() != 0 and not (SYSTEM / "made").exists():
        sys.exit("debootstrap needs root the first time; run it as root, or in a virtual machine of your own")


def run(*words: object, **more: Any) -> str:
    """Run a program, and end with what it said when it fails; return what it printed."""
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, **more)
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return done.stdout


def unpack_debian() -> None:
    """Put the files of an ARM Debian with Python into a folder, where they are not yet."""
    if (SYSTEM / "made").exists():
        return
    shutil.rmtree(SYSTEM, ignore_errors=True)
    print(f"unpacking Debian {SUITE} for ARM in {SYSTEM}", flush=True)
    wanted = f"--include={','.join(PACKAGES)}"
    run("debootstrap", "--foreign", "--arch=arm64", "--variant=minbase", wanted, SUITE, SYSTEM)
    for package in sorted((SYSTEM / "var" / "cache" / "apt" / "archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, SYSTEM)
    (SYSTEM / "made").touch()


def install_packages() -> None:
    """Put the ARM wheels of what subsalt needs into a folder, at the versions of constraints.txt."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    pins = (ROOT / "constraints.txt").read_text("utf-8")
    stamp = WORK / "installed.txt"
    if stamp.exists() and stamp.read_text("utf-8") == pins:
        return
    shutil.rmtree(SITE, ignore_errors=True)
    print("installing wheels for ARM", flush=True)
    run(
        *(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", SITE),
        *("--only-binary", ":all:", "--implementation", "cp", "--python-version", PYTHON),
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
        *("-c", ROOT / "constraints.txt", *needs),
    )
    stamp.write_text(pins, "utf-8")


def compile_kernels() -> None:
    """Compile the kernels with the headers of that Debian, and put them beside a copy of the sources."""
    print("compiling for ARM", flush=True)
    headers = SYSTEM / "usr" / "include"
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    beside = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run(
        *("cmake", "-S", ROOT, "-B", TREE, "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Linux"),
        *("-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++", *launcher),
        f"-DCMAKE_CXX_FLAGS=-idirafter {headers}",  # Python.h includes a header of its processor from here
        *(f"-DPython_EXECUTABLE={sys.executable}", f"-DPython_INCLUDE_DIR={headers / f'python{PYTHON}'}"),
        env=os.environ | beside,
    )
    run("cmake", "--build", TREE, "--target", "_native", "-j", "2", env=os.environ | beside)
    package = SITE / "subsalt"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "subsalt", package, ignore=shutil.ignore_patterns("__pycache__"))
    (compiled,) = TREE.glob("_native*.so")
    shutil.copy(compiled, package / f"_native{SUFFIX}")


def emulated(*words: object) -> tuple[str, float]:
    """Run the Python of that Debian; return what it printed, and seconds."""
    begin = time.monotonic()
    python = SYSTEM / "usr" / "bin" / f"python{PYTHON}"
    env = {"PATH": os.environ["PATH"], "HOME": str(WORK), "PYTHONPATH": str(SITE), "LANG": "C.UTF-8"}
    said = run("qemu-aarch64-static", "-L", SYSTEM, python, *words, env=env | {"OMP_NUM_THREADS": "2"})
    return said, time.monotonic() - begin


def identity() -> str:
    """Return a name for what computes: the compiled kernels, the sources, the jobs, the wheels, the emulator."""
    digest = hashlib.sha256(run("qemu-aarch64-static", "--version").encode())
    helpers = [RECORD.parent / "kirchhoff_jobs.py", RECORD.parent / "mpi" / "survey_jobs.py"]
    for file in [
        *helpers,
        RECORD / "jobs.py",
        WORK / "installed.txt",
        *sorted((SITE / "subsalt").rglob("*")),
    ]:
        if file.is_file() and file.suffix != ".pyc":
            digest.update(f"{file.name} {file.stat().st_size}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def run_jobs(results: Results, only: str) -> None:
    """Compute what is not there yet of what the record would hold, had it been made on ARM."""
    print(f"running jobs of the record under QEMU, minutes; kept in {results.image_lines}", flush=True)
    said, _ = emulated(RECORD, "--images", only, "--kept", results.image_lines)
    (numerics,) = json.loads(said)
    if numerics != CLASS:
        sys.exit(f"the kernels for ARM are of the numerics class {numerics}, not {CLASS}")


def run_demo(results: Results) -> None:
    """Run the quick demo, or what is missing of it, and keep what it says of itself."""
    if results.demo_file.exists():
        return
    folder = results.folder / "demo"
    print(f"running the quick demo under QEMU, more than an hour; its shots are kept in {folder}", flush=True)
    said, seconds = emulated("-m", "subsalt", "demo", "--quick", "--json", "--out", folder)
    results.demo_file.write_text(
        json.dumps(json.loads(said) | {"seconds_of_last_run": round(seconds)}), "utf-8"
    )


def compared(
    rows: dict[str, dict[str, Any]], demo: dict[str, Any] | None, only: str = "", partial: bool = False
) -> dict[str, Any]:
    """Return the report: what is as on x86-64, what is not, and what was not run."""
    everything = json.loads((RECORD / "record.json").read_text("utf-8"))["images"][CLASS]
    recorded = {name: digest for name, digest in everything.items() if only in name}
    made = {name: str(row["sha256"]) for name, row in rows.items() if only in name}
    wrong = [f"no job of the record has {only!r} in its name"] * (not recorded)
    differ = [n for n in made if made[n] != recorded.get(n)]
    wrong += [f"{n}: {made[n]}, not {recorded.get(n)}" for n in differ]
    missing = [n for n in recorded if n not in made] + ["quick demo"] * (demo is None and not only)
    if not partial:
        wrong += [f"{n}: not run" for n in missing]
    said: dict[str, Any] = {}
    if demo is not None and not only:
        wrong += [f"demo: {f['message']}" for f in demo["findings"] if f["level"] != "ok"]
        said = {
            "demo_samples_sha256": demo["samples_sha256"],
            "demo_seconds_of_last_run": demo["seconds_of_last_run"],
        }
        said["demo_findings"] = [f["message"] for f in demo["findings"]]
    return {
        "question": "do the kernels give the same bytes on 64-bit ARM (NEON) as on x86-64 (v3, v4)",
        "command": "make aarch64-proof" + f' ONLY="{only}"' * bool(only) + " KEPT=1" * partial,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "compiler": run("aarch64-linux-gnu-g++", "--version").splitlines()[0],
        "emulator": run("qemu-aarch64-static", "--version").splitlines()[0],
        "images": made,
        "images_equal": len(made) - len(differ),
        "images_recorded": len(recorded),
        "images_seconds": round(sum(rows[n]["seconds"] for n in made)),
        "not_run": missing,
        **said,
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
