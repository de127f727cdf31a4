"""Pack what gpu_first.py needs on a bare machine with a GPU and without a network, and unpack it there.

    make gpu-kit KIT=build/kit                        # here, once: 45 MB at most, with the source tree 64 MiB
    python3 benchmarks/gpu_first.py OUT --call 1 --kit build/kit        # there, from a copy of the source tree

There is expected: Python with NumPy's relatives (`THERE`), CMake, ninja and a C++ compiler. The kit brings the rest:
wheels, the plug-in for GPUs, and of the kernels the objects of all instruction sets, which take a quarter of an hour to
compile and know nothing of Python. What does, `native/bindings`, is compiled there in half a minute. A kit for the
Python that packs it has the compiled module itself, and so has one into whose folder the module is put that an earlier
call has left in its results.

A wheel is an archive of importable files: they are unpacked into one folder on PYTHONPATH, which needs neither pip nor
a virtual environment. Standard library alone: no import here may fail where nothing has run yet.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: packages that the other machine has, of any version that subsalt takes
THERE = (
    "scipy", "matplotlib", "typer", "rich", "jinja2", "pytest", "pytest-xdist", "hypothesis", "cmake", "ninja",
)  # fmt: skip
#: packages that travel, in the versions that the tests of this tree run with
CARRIED = (
    "numpy",
    "segyio",
    "pydantic",
    "pydantic-core",
    "annotated-types",
    "typing-inspection",
    "tomlkit",
    "nanobind",
)
#: Devito, whose scaling over threads is measured beside ours, and what of its needs is not there
PEER = ("devito", "anytree", "cgen", "codepy", "pytools", "platformdirs", "siphash24")
#: folders of their wheels that nothing imports: 35 MB of examples
LEFT_OUT = {"devito": ("examples/", "benchmarks/", "scripts/")}
#: of compiled wheels, any of which Linux of the last five years takes
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014", "manylinux1")
#: what may travel in all, the tracked files of the source tree included
MOST_BYTES = 64 << 20
FACTS, OBJECTS, UNPACKED = "kit.json", "objects.tar.xz", "unpacked"
MODULE = "_native.*.so"
PLUGIN, EMULATED = "libsubsalt_cuda.so", "libsubsalt_cuda_emulated.so"


def python_here() -> str:
    """Return the version of this Python to which compiled modules belong, such as ``3.12``."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def digest_of_sources() -> str:
    """Return a hash of all sources from which objects and plug-in are compiled."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "native").rglob("*")):
        if path.suffix in (".cpp", ".hpp", ".h", ".cu", ".cuh"):
            digest.update(str(path.relative_to(ROOT)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


# -- here


def pack(
    kit: Path, python: str, *, emulated: bool = False, objects: bool = False, wheels: bool = True
) -> None:
    """Fill a folder with what travels to a machine with that Python.

    Parameters
    ----------
    kit : Path
        Folder to be made.
    python : str
        Version of the Python there.
    emulated : bool
        Pack the emulated device, for a rehearsal on a machine without a GPU.
    objects : bool
        Pack objects although the compiled module of this Python would do.
    wheels : bool
        Pack the packages of others.
    """
    if kit.exists():
        raise SystemExit(f"{kit} exists; remove it, or give another folder")
    (kit / "wheels").mkdir(parents=True)
    plugin = ROOT / "build" / ("emulated" if emulated else "cuda") / (EMULATED if emulated else PLUGIN)
    if not plugin.is_file():
        raise SystemExit(f"{plugin} is not there: build it with make {'emulated' if emulated else 'cuda'}")
    with tarfile.open(kit / f"{plugin.name}.tar.xz", "w:xz") as archive:
        archive.add(plugin, plugin.name)
    tree = ROOT / "build" / str(sys.implementation.cache_tag)
    if python == python_here() and not objects:
        shutil.copy(next(tree.glob(MODULE)), kit)
    else:
        with tarfile.open(kit / OBJECTS, "w:xz") as archive:
            for i, path in enumerate(objects_without_python(tree)):
                archive.add(path, f"{i}-{path.name}")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    lab = str(ROOT / "packages" / "lab")
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(kit / "wheels"), lab], check=True
    )
    if wheels:
        download(kit / "wheels", python)
    facts = {"python": python, "plugin": plugin.name, "sources": digest_of_sources()}
    (kit / FACTS).write_text(json.dumps(facts) + "\n")
    kit_bytes, tree_bytes = sum(f.stat().st_size for f in files_of(kit)), bytes_of_tree()
    print(
        f"{kit}: for Python {python}, {kit_bytes / 1e6:.1f} MB; with the source tree "
        f"{(kit_bytes + tree_bytes) / 2**20:.1f} of {MOST_BYTES / 2**20:.0f} MiB"
    )
    if kit_bytes + tree_bytes > MOST_BYTES:
        raise SystemExit("that is too much to travel: shorten CARRIED and PEER")


def files_of(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and below it."""
    return (f for f in folder.rglob("*") if f.is_file())


def bytes_of_tree() -> int:
    """Return the bytes of the files of the source tree that are tracked, or would be."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0")
    return sum((ROOT / name).stat().st_size for name in listed if name and (ROOT / name).is_file())


def objects_without_python(tree: Path) -> list[Path]:
    """Return the objects of the compiled module that no version of Python has a part in."""
    module = next(tree.glob(MODULE)).name
    words = ["ninja", "-C", str(tree), "-t", "commands", module]
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"}
    link = subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout.splitlines()[-1]
    objects = [w for w in shlex.split(link) if w.endswith(".o")]
    return [tree / w for w in objects if not re.search(r"/(_native|nanobind[^/]*)\.dir/", w)]


def download(folder: Path, python: str) -> None:
    """Fetch wheels for a Python on x86-64 Linux, of the versions that are pinned, and leave out what nobody imports."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    where = ["--implementation", "cp", "--python-version", python]
    for platform in PLATFORMS:
        where += ["--platform", f"{platform}_x86_64"]
    pins = {}
    for name in ("constraints.txt", "benchmarks/peers/constraints-devito.txt"):
        for text in (ROOT / name).read_text().splitlines():
            package, _, version = text.partition("==")
            pins.setdefault(package.strip().lower().replace("_", "-"), version.strip())
    for package in (*CARRIED, *PEER):
        wanted = f"{package}=={pins[package]}"
        common = ["-q", "--no-deps", wanted]
        fetched = subprocess.run(
            [*pip, "download", "--only-binary", ":all:", "-d", str(folder), *where, *common],
            capture_output=True,
        )
        if fetched.returncode:  # of pure Python, published as a source archive alone
            subprocess.run([*pip, "wheel", "-w", str(folder), *common], check=True)
            if not any(p.name.endswith("-none-any.whl") for p in folder.glob(f"{package}-*")):
                raise SystemExit(f"{wanted} has no wheel for Python {python}")
    for package, folders in LEFT_OUT.items():
        for wheel in folder.glob(f"{package}-*.whl"):
            shorten(wheel, folders)


def shorten(wheel: Path, folders: tuple[str, ...]) -> None:
    """Rewrite a wheel without some of its folders."""
    new = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as short:
        for item in old.infolist():
            if not item.filename.startswith(folders):
                short.writestr(item, old.read(item), zipfile.ZIP_DEFLATED)
    new.replace(wheel)


# -- there


def known(kit: Path) -> dict[str, str]:
    """Return the facts of a kit.

    Raises
    ------
    SystemExit
        When the folder is no kit, or one for another Python or other sources.
    """
    if not (kit / FACTS).is_file():
        raise SystemExit(f"{kit} is no kit: pack one with make gpu-kit KIT=FOLDER")
    facts: dict[str, str] = json.loads((kit / FACTS).read_text())
    if facts["python"] != python_here():
        raise SystemExit(
            f"{kit} was packed for Python {facts['python']}, this is {python_here()}: start that one, or pack again"
        )
    if facts["sources"] != digest_of_sources():
        raise SystemExit(f"{kit} was packed from other sources than {ROOT / 'native'}: pack again")
    return facts


def environment(kit: Path, site: Path) -> dict[str, str]:
    """Return the environment in which Python finds what is unpacked."""
    before = os.environ.get("PYTHONPATH")
    env = {"PYTHONPATH": os.pathsep.join([str(site), *([before] if before else [])])}
    plugin = known(kit)["plugin"]
    if plugin == EMULATED:  # nothing else takes it for a GPU; the second is for tests
        names = "SUBSALT_CUDA_PLUGIN", "SUBSALT_EMULATED_PLUGIN"
        env |= dict.fromkeys(names, str(site / "subsalt" / plugin))
    return env


def unpack(kit: Path, site: Path) -> Path:
    """Unpack a kit into a folder, unless that is done, compile what is missing, and return the compiled module."""
    facts, begin = known(kit), time.monotonic()
    package = site / "subsalt"
    if not (site / UNPACKED).is_file():
        shutil.rmtree(site, ignore_errors=True)
        site.mkdir(parents=True)
        for wheel in sorted((kit / "wheels").glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)
        shutil.copytree(
            ROOT / "src" / "subsalt", package, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
        extracted(kit / f"{facts['plugin']}.tar.xz", package)
        modules = [*kit.glob(MODULE)]
        shutil.copy(modules[0] if modules else compiled(kit, site), package)
        subprocess.run([sys.executable, "-m", "compileall", "-q", "-j", "0", str(package)], check=False)
        (site / UNPACKED).touch()
    (module,) = package.glob(MODULE)
    print(json.dumps({"module": str(module), "seconds": round(time.monotonic() - begin, 1)}), flush=True)
    return module


def extracted(archive: Path, folder: Path) -> None:
    """Extract a compressed archive of our own."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as opened:
        if hasattr(tarfile, "data_filter"):
            opened.extractall(folder, filter="data")
        else:  # Python before 3.11.4; the archive is our own
            opened.extractall(folder)


def compiled(kit: Path, site: Path) -> Path:
    """Compile the part of the module that belongs to this Python, link it with the objects, and return it."""
    if not (kit / OBJECTS).is_file():
        raise SystemExit(f"{kit} has neither a module for this Python nor objects")
    folder = Path(tempfile.mkdtemp(prefix="subsalt-native-"))
    extracted(kit / OBJECTS, folder / "objects")
    env = os.environ | environment(kit, site)  # nanobind is among the wheels
    words = [
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        str(folder),
        "-G",
        "Ninja",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    subprocess.run([*words, f"-DSUBSALT_OBJECTS={folder / 'objects'}"], check=True, env=env)
    subprocess.run(
        ["cmake", "--build", str(folder), "--target", "_native", "-j", str(os.cpu_count())], check=True
    )
    return next(folder.glob(MODULE))


def main() -> None:
    """Parse, pack or unpack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="make a kit")
    packing.add_argument("kit", type=Path, help="folder to be made")
    packing.add_argument("--python", default="3.12", help="version of the Python there")
    packing.add_argument("--emulated", action="store_true", help="with the emulated device, to rehearse")
    packing.add_argument("--objects", action="store_true", help="compile there in any case")
    unpacking = commands.add_parser("unpack", help="unpack a kit, and compile what is missing")
    unpacking.add_argument("kit", type=Path)
    unpacking.add_argument("site", type=Path, help="folder for PYTHONPATH")
    options = parser.parse_args()
    if options.command == "pack":
        pack(options.kit.resolve(), options.python, emulated=options.emulated, objects=options.objects)
    else:
        unpack(options.kit.resolve(), options.site.resolve())


if __name__ == "__main__":
    main()
