"""Install the wheels into a bare Debian without compiler and network, and run `subsalt doctor` and the demo there.

    sudo python packages/wheel_proof.py [--suite bookworm] [--dist dist] [--json FILE]

debootstrap makes the root: the base system and Python, nothing else. The packages that subsalt needs are fetched here,
at the versions of constraints.txt. Inside, an ordinary user sees a network with no interface but loopback. bookworm
(Debian 12) tries the wheel for Python 3.11, trixie (Debian 13) that of the stable ABI. The root is kept in
build/bare-SUITE.

What is required: every self-test of `doctor` passes, the reflectors of the demo are where they are known to be, and the
image has the recorded hash. Seconds and number of packages are compared with what we promise, and printed.
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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUITES = {"bookworm": "3.11", "trixie": "3.13"}
WANTED = ("subsalt-imaging", "subsalt-lab")
#: what we promise of an installation: seconds, and packages with ours
SECONDS, PACKAGES = 60, 30
COMPILERS = ("cc", "gcc", "g++", "c++", "clang", "make", "cmake")
USER = 1000


def main() -> int:
    """Prove it, and return 0; 1 when what runs there is wrong."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--suite", choices=sorted(SUITES), default="bookworm")
    options.add_argument("--dist", type=Path, default=ROOT / "dist")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    for program, why in (("debootstrap", "apt-get install debootstrap"), ("unshare", "part of util-linux")):
        if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            sys.exit(f"the proof needs {program}: {why}")
    if os.geteuid() != 0:
        sys.exit(
            "the proof needs root, for debootstrap and chroot; run it as root, or in a virtual machine of your own"
        )
    root = bare_root(given.suite)
    wheels = collect(given.dist, SUITES[given.suite], root / "wheels")
    report = try_out(root, wheels)
    report = {
        "question": "does an installation from wheels work without compiler and network",
        "command": f"make wheel-proof SUITE={given.suite}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "system": f"Debian {(root / 'etc' / 'debian_version').read_text().strip()}, base system and Python",
        **report,
    }
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "packages"}, indent=1))
    if report["misses"]:
        print("promised and not reached: " + "; ".join(report["misses"]), file=sys.stderr)
    return 1 if report["wrong"] else 0


def bare_root(suite: str) -> Path:
    """Return the folder of a Debian with Python and no compiler, made where there is none."""
    root = ROOT / "build" / f"bare-{suite}"
    if not (root / "made").exists():
        shutil.rmtree(root, ignore_errors=True)
        print(f"making a bare Debian {suite} in {root}: some minutes", flush=True)
        run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", suite, root)
        (root / "made").touch()
    found = [name for name in COMPILERS if (root / "usr" / "bin" / name).exists()]
    if found:
        sys.exit(f"{root} is not bare, it has {', '.join(found)}; remove it and start again")
    return root


def collect(dist: Path, python: str, folder: Path) -> list[Path]:
    """Put our wheels for this Python, and all that they need, into a folder; return ours there."""
    shutil.rmtree(folder, ignore_errors=True)
    tag = "cp311-cp311" if python == "3.11" else "cp312-abi3"
    ours = [*dist.glob(f"subsalt_imaging-*-{tag}-*.whl"), *dist.glob("subsalt_lab-*.whl")]
    if len(ours) != len(WANTED):
        sys.exit(
            f"{dist} has not one wheel {tag} of subsalt-imaging and one of subsalt-lab; make wheel makes them"
        )
    run(
        *(
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
        ),
        *("--python-version", python, "--implementation", "cp", "-c", ROOT / "constraints.txt"),
        *("--find-links", dist, "-d", folder, *ours),
    )
    return [folder / wheel.name for wheel in ours]


def run(*words: object) -> None:
    """Run a program, and end with what it said when it fails."""
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True)
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr}"
        )


def inside(root: Path, *words: str) -> tuple[str, float]:
    """Run a command in the root as an ordinary user without a network; return what it printed, and seconds."""
    begin = time.monotonic()
    done = subprocess.run(
        [
            *("unshare", "--net", "--mount", "--pid", "--fork", f"--mount-proc={root / 'proc'}"),
            *("chroot", f"--userspec={USER}:{USER}", str(root)),
            *("/usr/bin/env", "-i", "-C", "/home/user", "HOME=/home/user", "LANG=C.UTF-8"),
            *("PATH=/home/user/env/bin:/usr/bin:/bin", *words),
        ],
        text=True,
        capture_output=True,
    )
    seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit(
            f"{' '.join(words)}\nended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
    return done.stdout, seconds


def try_out(root: Path, ours: list[Path]) -> dict[str, Any]:
    """Install, examine, image; return what came out."""
    home = root / "home" / "user"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    os.chown(home, USER, USER)
    interfaces = [
        line.partition(":")[0].strip()
        for line in inside(root, "cat", "/proc/net/dev")[0].splitlines()
        if ":" in line
    ]
    inside(root, "python3", "-m", "venv", "env")
    _, install = inside(root, "pip", "install", "-q", "--no-index", "--find-links", "/wheels", *WANTED)
    listed = json.loads(inside(root, "pip", "list", "--disable-pip-version-check", "--format", "json")[0])
    packages = {p["name"]: p["version"] for p in listed if p["name"] not in ("pip", "setuptools", "wheel")}
    doctor = json.loads(inside(root, "subsalt", "doctor", "--json")[0])
    inside(root, "subsalt", "lab", "--help")
    text, seconds = inside(root, "subsalt", "demo", "--quick", "--json", "--out", "demo")
    demo = json.loads(text)
    wrong = [f"doctor: {t['name']}: {t['detail']}" for t in doctor["tests"] if not t["passed"]]
    wrong += [f"demo: {f['message']}" for f in demo["findings"] if f["level"] != "ok"]
    wrong += [f"interface {name}" for name in interfaces if name != "lo"]
    misses = [f"installed in {install:.0f} s, not {SECONDS}"] * (install > SECONDS)
    misses += [f"{len(packages)} packages, not {PACKAGES}"] * (len(packages) > PACKAGES)
    return {
        "python": inside(root, "python3", "-V")[0].split()[-1],
        "cpu": doctor["cpu"],
        "cores": doctor["cores"],
        "load_before": round(os.getloadavg()[0], 1),
        "subsalt": doctor["version"],
        "isa": doctor["isa"],
        "wheels": {p.name: p.stat().st_size for p in ours},
        "wheels_of_others_bytes": sum(p.stat().st_size for p in (root / "wheels").glob("*.whl"))
        - sum(p.stat().st_size for p in ours),
        "interfaces": interfaces,
        "install_seconds": round(install, 1),
        "packages": packages,
        "packages_count": len(packages),
        "doctor": {t["name"]: t["detail"] for t in doctor["tests"]},
        "demo_seconds": round(seconds, 1),
        "demo_samples_sha256": demo["samples_sha256"],
        "demo_findings": [f["message"] for f in demo["findings"]],
        "reflector_errors_m": {r["name"]: round(r["error"], 2) for r in demo["reflectors"]},
        "misses": misses,
        "wrong": wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
