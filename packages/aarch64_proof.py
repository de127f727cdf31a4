"""Cross-compile the kernels for 64-bit ARM, run them under QEMU, and compare their bytes with those of x86-64.

    sudo python packages/aarch64_proof.py [--only PART] [--json FILE]

The jobs of tests/record, of every medium, boundary and kind of migration, and the quick demo are run by the Python of
an ARM Debian with NumPy and SciPy for ARM. Their hashes must be those that v3 and v4 gave: NEON has fused multiply-adds
too. QEMU computes what the processor would, instruction by instruction, so nothing here says how fast an ARM processor
is. ``--only "2-D"`` takes the jobs with that in their names, and no demo.

debootstrap fetches the Debian (it wants to be root) and nothing of it is installed or started: its packages are
unpacked, and QEMU looks for libraries there. It is kept, with what is compiled, in build/aarch64.
"""

from __future__ import annotations

import argparse
import datetime
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
SYSTEM, SITE, TREE = WORK / "debian", WORK / "site", WORK / "tree"
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
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    look_for_programs()
    unpack_debian()
    install_packages()
    compile_kernels()
    report = compared(images(given.only), None if given.only else demo(), given.only)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "images"}, indent=1))
    return 1 if report["wrong"] else 0


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


def images(only: str) -> dict[str, Any]:
    """Return what the record would hold, had it been made on ARM: of the jobs with a part in their names."""
    print("running jobs of the record under QEMU: the 3-D ones take minutes each", flush=True)
    said, seconds = emulated(ROOT / "tests" / "record", "--images", only)
    return {"made": json.loads(said), "seconds": round(seconds)}


def demo() -> dict[str, Any]:
    """Return what the quick demo says of itself."""
    print("running the quick demo under QEMU", flush=True)
    folder = WORK / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    said, seconds = emulated("-m", "subsalt", "demo", "--quick", "--json", "--out", folder)
    return json.loads(said) | {"seconds": round(seconds)}


def compared(images: dict[str, Any], demo: dict[str, Any] | None, only: str = "") -> dict[str, Any]:
    """Return the report: what is as on x86-64, and what is not."""
    everything = json.loads((ROOT / "tests" / "record" / "record.json").read_text("utf-8"))["images"][CLASS]
    recorded = {name: digest for name, digest in everything.items() if only in name}
    (numerics,), (made,) = images["made"].keys(), images["made"].values()
    wrong = [f"numerics class {numerics}, not {CLASS}"] * (numerics != CLASS)
    wrong += [f"no job of the record has {only!r} in its name"] * (not recorded)
    names = sorted(recorded | made)
    differ = [n for n in names if made.get(n) != recorded.get(n)]
    wrong += [f"{n}: {made.get(n)}, not {recorded.get(n)}" for n in differ]
    said = {}
    if demo is not None:
        wrong += [f"demo: {f['message']}" for f in demo["findings"] if f["level"] != "ok"]
        said = {"demo_samples_sha256": demo["samples_sha256"], "demo_seconds": demo["seconds"]}
        said["demo_findings"] = [f["message"] for f in demo["findings"]]
    return {
        "question": "do the kernels give the same bytes on 64-bit ARM (NEON) as on x86-64 (v3, v4)",
        "command": "make aarch64-proof" + f' ONLY="{only}"' * bool(only),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "compiler": run("aarch64-linux-gnu-g++", "--version").splitlines()[0],
        "emulator": run("qemu-aarch64-static", "--version").splitlines()[0],
        "images": made,
        "images_equal": len(names) - len(differ),
        "images_recorded": len(recorded),
        "images_seconds": images["seconds"],
        **said,
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
