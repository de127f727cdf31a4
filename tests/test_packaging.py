"""What is published: versions and requirements agree, the source distribution is whole and clean.

And what users of it meet: an old processor, one of ARM, a plug-in that is a distribution, the programs that make
wheels.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from jinja2 import Environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import subsalt
from subsalt import errors, extensions, host
from subsalt.errors import DeviceError
from subsalt.kernels import cpu, cuda_library

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = {
    name: ROOT / folder
    for name, folder in (("core", "."), ("lab", "packages/lab"), ("cuda", "packages/cuda"))
}
TOML = {name: tomllib.loads((folder / "pyproject.toml").read_text()) for name, folder in PROJECTS.items()}
DEPENDENCIES = [Requirement(text) for text in TOML["core"]["project"]["dependencies"]]
RECIPES = ROOT / "packages" / "recipes"
SPACK = (RECIPES / "spack" / "package.py").read_text()
CONDA = (RECIPES / "conda" / "meta.yaml").read_text()


def script(name: str):
    """Return a program of `packages` as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "packages" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# versions and requirements


def test_all_places_name_one_version() -> None:
    version = subsalt.__version__
    assert {toml["project"]["version"] for toml in TOML.values()} == {version}
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'{{% set version = "{version}" %}}' in CONDA
    assert f'version("{version}")' in SPACK
    assert f"subsalt_imaging-{version}.tar.gz" in SPACK


@pytest.mark.parametrize("project", ["lab", "cuda"])
def test_parts_require_the_core_of_their_version(project: str) -> None:
    assert f"subsalt-imaging=={subsalt.__version__}" in TOML[project]["project"]["dependencies"]


def test_a_plain_installation_has_at_most_thirty_packages() -> None:
    names, left = set(), ["subsalt-imaging", "subsalt-lab"]
    while left:
        name = canonicalize_name(left.pop())
        if name in names:
            continue
        names.add(name)
        for text in distribution(name).requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                left.append(needed.name)
    assert {"numpy", "subsalt-imaging", "markupsafe"} <= names
    assert len(names) <= 30, sorted(names)


# recipes


def conda_recipe() -> dict:
    """Return the recipe as its builder sees it, its functions replaced by their names."""
    functions = {"compiler": lambda name: f"compiler {name}", "stdlib": lambda name: f"stdlib {name}"}
    text = Environment().from_string(CONDA).render(PYTHON="python", **functions)
    return yaml.safe_load(text)


def test_the_conda_recipe_needs_what_the_project_needs() -> None:
    recipe = conda_recipe()
    needs = recipe["requirements"]
    renamed = {"matplotlib": "matplotlib-base"}
    wanted = {f"{renamed.get(d.name, d.name)} {_in_order(d)}" for d in DEPENDENCIES}
    assert set(needs["run"]) == wanted | {f"python {TOML['core']['project']['requires-python']}"}
    host = {line for line in needs["host"] if not line.startswith(("python", "pip"))}
    assert host == {
        f"{d.name} {d.specifier}" for d in map(Requirement, TOML["core"]["build-system"]["requires"])
    }
    assert f"cmake {TOML['core']['tool']['scikit-build']['cmake']['version']}" in needs["build"]
    assert recipe["build"]["entry_points"] == ["subsalt = subsalt.cli:main"]
    assert TOML["core"]["project"]["scripts"] == {"subsalt": "subsalt.cli:main"}
    assert (RECIPES / "conda" / recipe["source"]["path"]).resolve() == ROOT


def test_the_spack_recipe_needs_what_the_project_needs() -> None:
    calls = [node for node in ast.walk(ast.parse(SPACK)) if isinstance(node, ast.Call)]
    named = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "depends_on"]
    needs = {ast.literal_eval(c.args[0]): ast.literal_eval(c.keywords[0].value) for c in named}
    core, build = TOML["core"], "build"
    wanted = {f"py-{d.name}{_of_spack(d)}": (build, "run") for d in DEPENDENCIES}
    wanted |= {
        f"py-{d.name}{_of_spack(d)}": build for d in map(Requirement, core["build-system"]["requires"])
    }
    mpi = next(
        d for d in map(Requirement, core["project"]["optional-dependencies"]["mpi"]) if d.name == "mpi4py"
    )
    wanted[f"py-mpi4py{_of_spack(mpi)}"] = (build, "run")
    wanted[f"python@{core['project']['requires-python'].removeprefix('>=')}:"] = (build, "run")
    wanted[f"cmake@{core['tool']['scikit-build']['cmake']['version'].removeprefix('>=')}:"] = build
    assert needs == wanted | {"cxx": build, "ninja": build}


def _in_order(requirement: Requirement) -> str:
    """Return the versions as `>=` first: sets of them have no order."""
    return ",".join(sorted(map(str, requirement.specifier), reverse=True))


def _of_spack(requirement: Requirement) -> str:
    """Return the versions as Spack writes them: from, to; `<2` is all of 1."""
    bounds = {s.operator: s.version for s in requirement.specifier}
    assert set(bounds) <= {">=", "<"}
    return f"@{bounds['>=']}:{int(bounds['<']) - 1 if '<' in bounds else ''}"


# the source distribution


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of the source distribution."""
    out = tmp_path_factory.mktemp("sdist")
    code = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, out], cwd=ROOT, check=True, capture_output=True)
    (file,) = out.glob("subsalt_imaging-*.tar.gz")
    with tarfile.open(file) as archive:
        members = [m for m in archive.getmembers() if m.isfile()]
        return {m.name.split("/", 1)[1]: archive.extractfile(m).read() for m in members}  # type: ignore[union-attr]


def test_the_source_distribution_has_all_sources(sdist: dict[str, bytes]) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "src", "native", "CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    ).stdout.split()
    assert len(tracked) > 400
    assert set(tracked) <= set(sdist)


def test_the_source_distribution_has_nothing_else(sdist: dict[str, bytes]) -> None:
    outside = {name for name in sdist if not name.startswith(("src/subsalt/", "native/"))}
    assert outside == {
        *("CHANGELOG.md", "CITATION.cff", "CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md"),
        *("constraints.txt", "pyproject.toml"),
    }
    inside = {Path(name).suffix for name in set(sdist) - outside}
    kinds = "cpp cu cuh css csv h hpp html js json md py pyi toml txt typed"
    texts = {f".{kind}" for kind in kinds.split()}
    assert inside - {""} <= texts, inside - texts
    assert not [name for name, content in sdist.items() if b"\0" in content]
    assert sum(map(len, sdist.values())) < 10e6


@pytest.mark.parametrize(("project", "package"), [("core", "subsalt"), ("lab", "subsalt_lab")])
def test_types_are_published(project: str, package: str, sdist: dict[str, bytes], tmp_path: Path) -> None:
    """Type checkers read the annotations of a package with this marker, and of no other (PEP 561)."""
    assert (PROJECTS[project] / "src" / package / "py.typed").is_file()
    assert "src/subsalt/py.typed" in sdist
    # the files of a wheel, nothing compiled
    plain = "{'wheel.cmake': 'false', 'wheel.py-api': 'py3', 'build-dir': sys.argv[1] + '/tree'}"
    code = f"import sys, scikit_build_core.build as b; b.build_wheel(sys.argv[1], {plain})"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=PROJECTS[project], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"{package}/py.typed", f"{package}/__init__.py"} <= names


def test_links_of_the_readme_lead_to_the_repository(tmp_path: Path) -> None:
    """On an index, beside which no file lies; with the address that `[project.urls]` will have."""
    wheels = script("wheels")
    at = "https://example.org/subsalt"
    shown = wheels.with_address((ROOT / "README.md").read_text("utf-8"), at)
    targets = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert f"{at}/blob/HEAD/docs/index.md#limits-of-this-version" in targets
    assert f"{at}/raw/HEAD/docs/marmousi2.png" in targets
    assert [t for t in targets if not t.startswith(("#", at))] == []
    # each is a file here, and what is no link stays
    for target in targets:
        if target.startswith(at):
            assert (ROOT / target.removeprefix(at).split("/", 3)[3].partition("#")[0]).is_file(), target
    assert shown.replace(f"{at}/blob/HEAD/", "").replace(f"{at}/raw/HEAD/", "") == (
        ROOT / "README.md"
    ).read_text("utf-8")


def test_a_source_distribution_shows_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is made from an unpacked one, whose project names its repository."""
    wheels = script("wheels")
    (tmp_path / "src" / "tiny").mkdir(parents=True)
    (tmp_path / "src" / "tiny" / "__init__.py").write_text("")
    (tmp_path / "README.md").write_text("See [the page](docs/page.md), [this](#top), [that](//elsewhere).\n")
    (tmp_path / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n'
        '[project]\nname = "tiny"\nversion = "1"\nreadme = "README.md"\n'
        '[project.urls]\nRepository = "https://example.org/tiny/"\n[tool.scikit-build]\nwheel.cmake = false\n'
    )
    monkeypatch.setattr(wheels, "WORK", tmp_path / "work")
    monkeypatch.setattr(wheels, "PROJECTS", {"tiny": tmp_path})
    monkeypatch.setattr(wheels, "environment", lambda *_: Path(sys.executable).parent)
    (tmp_path / "out").mkdir()
    file, unpacked = wheels.source("tiny", tmp_path / "out")
    with tarfile.open(file) as archive:
        said = {
            n: archive.extractfile(n).read().decode()  # type: ignore[union-attr]
            for n in archive.getnames()
            if n.endswith(("README.md", "PKG-INFO"))
        }
    assert sorted(said) == ["tiny-1/PKG-INFO", "tiny-1/README.md"]
    for text in (*said.values(), (unpacked / "README.md").read_text()):
        assert (
            "[the page](https://example.org/tiny/blob/HEAD/docs/page.md), [this](#top), [that](//elsewhere)"
            in text
        )
    assert "docs/page.md" in (tmp_path / "README.md").read_text()


def test_the_index_would_show_what_the_project_says(sdist: dict[str, bytes]) -> None:
    said = Parser().parsestr(sdist["PKG-INFO"].decode())
    project = TOML["core"]["project"]
    assert (said["Name"], said["Version"]) == (project["name"], project["version"])
    assert said["Requires-Python"] == project["requires-python"]
    assert said["License-Expression"] == project["license"]
    assert said["Description-Content-Type"].startswith("text/markdown")
    needed = {
        str(Requirement(text)) for text in said.get_all("Requires-Dist") or [] if "extra ==" not in text
    }
    assert needed == set(map(str, DEPENDENCIES))


def test_nothing_published_names_an_index_or_a_path() -> None:
    files = [*RECIPES.rglob("*.*"), *(ROOT / "packages").glob("*.py"), ROOT / "docs" / "release.md"]
    assert len(files) >= 5
    for file in files:
        assert not re.search(r"https?://|/root/|/home/(?!user\b)", file.read_text()), file.name


# the plug-in for GPUs as a distribution


def test_the_plugin_is_found_in_its_distribution(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = TOML["cuda"]["project"]
    (tmp_path / "subsalt_cuda").mkdir()
    code = (PROJECTS["cuda"] / "src" / "subsalt_cuda" / "__init__.py").read_text()
    (tmp_path / "subsalt_cuda" / "__init__.py").write_text(code)
    (tmp_path / "subsalt_cuda" / cuda_library.PLUGIN).write_bytes(b"not a library")
    info = tmp_path / "subsalt_cuda-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: subsalt-cuda\nVersion: 0\n")
    points = project["entry-points"][extensions.CUDA_PLUGIN]
    lines = [f"[{extensions.CUDA_PLUGIN}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("SUBSALT_CUDA_PLUGIN", raising=False)
    monkeypatch.setattr("subsalt._native.__file__", str(tmp_path / "elsewhere" / "_native.so"))
    cuda_library.forget()
    try:
        assert cuda_library.plugin_path() == tmp_path / "subsalt_cuda" / cuda_library.PLUGIN
        # what is built in a clone comes first
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / cuda_library.PLUGIN).write_bytes(b"")
        assert cuda_library.plugin_path() == tmp_path / "elsewhere" / cuda_library.PLUGIN
    finally:
        sys.modules.pop("subsalt_cuda", None)
        cuda_library.forget()


def test_the_wheel_of_the_plugin_names_the_core_and_the_place_of_its_library(tmp_path: Path) -> None:
    """Without the library, which `make wheel-cuda` compiles: it is looked for beside the module that names it."""
    plain = "{'wheel.cmake': 'false', 'build-dir': sys.argv[1] + '/tree'}"
    code = f"import sys, scikit_build_core.build as b; b.build_wheel(sys.argv[1], {plain})"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path], cwd=PROJECTS["cuda"], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("subsalt_cuda-*-py3-none-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    assert "subsalt_cuda/__init__.py" in archive.namelist()
    assert f"[{extensions.CUDA_PLUGIN}]\ncuda=subsalt_cuda:PLUGIN" in files["entry_points.txt"].replace(
        " ", ""
    )
    needs = Parser().parsestr(files["METADATA"]).get_all("Requires-Dist")
    assert needs == [f"subsalt-imaging=={subsalt.__version__}"]


# 64-bit ARM


def rows_on_arm(change: dict[str, str]) -> dict[str, dict]:
    """Return what a proof keeps of images whose hashes are those of the record but for a change."""
    record = json.loads((ROOT / "tests" / "record" / "record.json").read_text())["images"]["fma"]
    return {name: {"name": name, "sha256": h, "seconds": 1.0} for name, h in (record | change).items()}


def demo_on_arm(level: str = "ok") -> dict:
    """Return what a demo says that found its samples as recorded, or not."""
    said = [{"level": level, "message": "samples c69d, as recorded"}]
    return {"findings": said, "samples_sha256": "c69d", "seconds_of_last_run": 1}


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch):
    """Return the program of the proof, where no compiler and emulator is asked for its version."""
    monkeypatch.setattr(
        subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0, stdout="version 1\n")
    )
    return script("aarch64_proof")


def test_the_proof_on_arm_names_what_differs(arm) -> None:
    same = arm.compared(rows_on_arm({}), demo_on_arm())
    assert (same["wrong"], same["not_run"]) == ([], [])
    assert same["images_equal"] == same["images_recorded"] > 30
    other = arm.compared(rows_on_arm({"tti 3-D": "0" * 64}), demo_on_arm())
    assert other["images_equal"] == same["images_equal"] - 1
    assert [line.partition(":")[0] for line in other["wrong"]] == ["tti 3-D"]
    assert arm.compared(rows_on_arm({}), demo_on_arm("warning"))["wrong"] == [
        "demo: samples c69d, as recorded"
    ]
    assert arm.compared({}, None, "no such job")["wrong"]


def test_the_proof_on_arm_names_what_was_not_run(arm) -> None:
    """It is an error, unless what was kept is reported."""
    rows = {name: row for name, row in rows_on_arm({}).items() if name != "vti 2-D"}
    report = arm.compared(rows, None)
    assert report["not_run"] == ["vti 2-D", "quick demo"]
    assert report["wrong"] == ["vti 2-D: not run", "quick demo: not run"]
    stopped = arm.compared(rows, None, partial=True)
    assert (stopped["not_run"], stopped["wrong"]) == (report["not_run"], [])
    assert stopped["images_equal"] == stopped["images_recorded"] - 1 == len(stopped["images"])
    assert stopped["command"].endswith(" KEPT=1")
    assert arm.compared(rows, None, "kirchhoff")["wrong"] == []


def test_the_proof_on_arm_goes_on_where_it_was_stopped(arm, monkeypatch, tmp_path: Path) -> None:
    """Each hash is kept as soon as it is known; what is there is not computed again."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "record"))
    spec = importlib.util.spec_from_file_location("record", ROOT / "tests" / "record" / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    record = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(os, "environ", os.environ.copy())
    spec.loader.exec_module(record)
    computed: list[str] = []

    def image(self: object, name: str) -> str:
        computed.append(name)
        if name == "iso 2-D, free surface":
            raise KeyboardInterrupt
        return f"hash of {name}"

    monkeypatch.setattr(record.Jobs, "image", image)
    results = arm.Results("0123", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        record.images(tmp_path, "2-D", results.image_lines)
    assert computed == ["iso 2-D", "vti 2-D", "tti 2-D", "iso 2-D, free surface"]
    assert {n: row["sha256"] for n, row in results.images().items()} == {
        n: f"hash of {n}" for n in computed[:3]
    }
    computed.clear()
    ((_, hashes),) = record.images(tmp_path, "ti 2-D", results.image_lines).items()
    assert not {"vti 2-D", "tti 2-D"} & set(computed)
    assert {"vti 2-D", "tti 2-D", "vti 2-D, damping, order 4"} <= set(hashes)
    assert set(results.images()) == {"iso 2-D", *hashes}
    assert (results.demo(), arm.Results("4567", tmp_path).images()) == (None, {})


def test_the_demo_on_arm_goes_on_with_the_shots_it_has(arm, monkeypatch, tmp_path: Path) -> None:
    """A stop leaves the folder of the demo, which finishes its own shots; what it said at last is kept."""
    results = arm.Results("0123", tmp_path)
    shots: list[int] = []

    def emulated(*words: object) -> tuple[str, float]:
        folder = Path(str(words[-1]))
        folder.mkdir(exist_ok=True)
        shots.append(len(list(folder.iterdir())))
        (folder / f"shot_{shots[-1]}").touch()
        if len(shots) < 3:
            sys.exit("stopped")
        return json.dumps(demo_on_arm()), 1.4

    monkeypatch.setattr(arm, "emulated", emulated)
    for _ in range(2):
        with pytest.raises(SystemExit):
            arm.run_demo(results)
        assert results.demo() is None
    arm.run_demo(results)
    arm.run_demo(results)
    assert shots == [0, 1, 2]
    assert results.demo() == demo_on_arm()


# processors without x86-64-v2


def cpuinfo(folder: Path, flags: str) -> Path:
    """Write what Linux says of two cores."""
    file = folder / "cpuinfo"
    file.write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n\nprocessor\t: 1\nflags\t\t: fpu\n")
    return file


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        (f"fpu sse2 {' '.join(host.V2_FLAGS)} avx2", []),
        ("fpu sse2 cx16 lahf_lm pni ssse3", ["popcnt", "sse4_1", "sse4_2"]),
        ("fpu sse2 cx16 lahf_lm pni ssse3 sse4_1 sse4_2x", ["popcnt", "sse4_2"]),
    ],
)
def test_missing_instructions_are_named(tmp_path: Path, flags: str, missing: list[str]) -> None:
    assert host.missing_instructions(cpuinfo(tmp_path, flags)) == missing


def test_nothing_is_missing_where_linux_does_not_say(tmp_path: Path) -> None:
    assert host.missing_instructions(tmp_path / "none") == []
    (tmp_path / "arm").write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert host.missing_instructions(tmp_path / "arm") == []


def test_an_old_processor_is_told_in_one_line(monkeypatch, subsalt_command) -> None:
    monkeypatch.setattr(host, "missing_instructions", lambda: ["popcnt", "sse4_2"])
    with pytest.raises(DeviceError, match="lacks popcnt, sse4_2") as said:
        _ = subsalt.Grid
    assert (said.value.code, said.value.exit_code) == ("E707", 69)
    code, out, err = subsalt_command("scan", "line.sgy")
    assert (code, out) == (69, "")
    assert "E707  this processor lacks popcnt, sse4_2, which subsalt and NumPy need (x86-64-v2)" in err
    assert "QEMU: -cpu host" in err


def test_kernels_without_a_fitting_processor_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise RuntimeError("this processor lacks SSE 4.2 (x86-64-v2)")

    monkeypatch.setattr(cpu._native, "isa", none)
    monkeypatch.setattr(cpu._native, "available_isas", list)
    monkeypatch.setattr(cpu._Settings, "isa", None)
    with pytest.raises(DeviceError, match="x86-64-v2") as said:
        cpu.describe()
    assert said.value.code == "E707"


def test_extras_are_installed_as_the_package_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert errors.install("zarr") == "in the clone: pip install -e '.[zarr]'"
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "lib" / "subsalt" / "errors.py"))
    assert errors.install("zarr") == "pip install 'subsalt-imaging[zarr]'"


# the programs that make and prove wheels


def test_the_proof_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = script("wheel_proof")
    monkeypatch.setattr(sys, "argv", ["wheel_proof.py"])
    monkeypatch.setattr(proof.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SystemExit, match="needs debootstrap: apt-get install debootstrap"):
        proof.main()
    monkeypatch.setattr(proof.shutil, "which", lambda *_, **__: "/usr/sbin/debootstrap")
    monkeypatch.setattr(proof.os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit, match="needs root"):
        proof.main()


def test_the_proof_refuses_a_folder_without_wheels(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="make wheel makes them"):
        script("wheel_proof").collect(tmp_path, "3.11", tmp_path / "wheels")


def test_kernels_of_every_instruction_set_are_looked_for(monkeypatch, tmp_path: Path) -> None:
    """In what `objdump` says of the compiled module."""
    wheels = script("wheels")
    monkeypatch.setattr(wheels, "WORK", tmp_path)
    with zipfile.ZipFile(tmp_path / "some.whl", "w") as wheel:
        wheel.writestr("subsalt/_native.abi3.so", b"")
        wheel.writestr("subsalt/__init__.py", b"")
    lines = {
        "v2": "  1a2:\taddps  %xmm0,%xmm1\n",
        "v3": "  1a3:\tvfmadd231ps %ymm1,%ymm2,%ymm3\n",
        "v4": "  1a4:\tvfmadd132ps 0x40(%rax),%zmm2,%zmm3\n",
    }
    scalar = "  1a5:\tvfmadd231ss %xmm1,%xmm2,%xmm3\n  1a6:\tvaddps %xmm1,%xmm2,%xmm3\n"
    for held in (set(), {"v2"}, {"v2", "v3"}, set(lines)):
        said = scalar + "".join(lines[name] for name in sorted(held))
        monkeypatch.setattr(wheels, "run", lambda *_, said=said: said)
        assert wheels.instruction_sets(tmp_path / "some.whl") == held


def test_interpreters_are_asked_for_by_name() -> None:
    wheels = script("wheels")
    with pytest.raises(SystemExit, match=r"python9\.9 is no program"):
        wheels.interpreters(["python9.9"])
    ((key, (path, tag)),) = wheels.interpreters([sys.executable]).items()
    minor = sys.version_info.minor
    assert (key, path, tag) == ("cp311" if minor == 11 else "abi3", sys.executable, f"cp3{minor}")
