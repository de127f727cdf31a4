"""A copy of the working tree in which faults are planted: sources, an environment that imports them, compiled code.

The environment is that of the tree, by symbolic links, but for the package itself. Of compiled code only the objects
that a fault touches are made anew, by the commands of the tree's own build folders, for one instruction set; all others
are those of the tree.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutant_rows import Mutant

ROOT = Path(__file__).resolve().parents[2]
TAG = sys.implementation.cache_tag

#: where the list of instruction sets ends: tests that compare two of them would notice every fault in one
ONE_ISA = (
    "native/isa/dispatch.cpp",
    "    return out;\n}\n\nstd::string joined(",
    '    std::erase_if(out, [](const Entry& e) {{ return std::string(e.name) != "{isa}"; }});\n'
    "    return out;\n}}\n\nstd::string joined(",
)

#: build folder, and what is linked in it, by the kind of a fault's build
LINKED = {
    "native": (f"build/{TAG}", "_native*.so"),
    "emulated": ("build/emulated", "libsubsalt_cuda_emulated.so"),
}


class Copy:
    """The copy.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in self._sources():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        self._make_environment()
        self._isa = ""

    @property
    def python(self) -> Path:
        """The interpreter that imports the copy."""
        return self.folder / ".venv" / "bin" / "python"

    @staticmethod
    def _sources() -> list[str]:
        words = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0")
        return [name for name in listed if name and (ROOT / name).is_file()]

    def _make_environment(self) -> None:
        venv, theirs = self.folder / ".venv", Path(sys.prefix)
        subprocess.run(["cp", "-rs", str(theirs), str(venv)], check=True)
        for script in (venv / "bin").iterdir():
            real = theirs / "bin" / script.name
            if not real.is_file() or real.stat().st_size > 1 << 16:
                continue
            text = real.read_bytes()
            if text.startswith(b"#!" + bytes(theirs / "bin")):
                mode = real.stat().st_mode
                script.unlink()
                script.write_bytes(text.replace(bytes(theirs), bytes(venv), 1))
                script.chmod(mode)
        (packages,) = (venv / "lib").glob("python3*/site-packages")
        for link in packages.glob("_editable_skbc_subsalt*"):
            link.unlink()
        self.package = self.folder / "src" / "subsalt"
        for compiled in (packages / "subsalt").glob("*.so"):
            shutil.copy2(compiled, self.package / compiled.name)
        shutil.rmtree(packages / "subsalt")
        (packages / "copy.pth").write_text(f"{self.folder / 'src'}\n{self.folder / 'packages/lab/src'}\n")
        # device tests look there for the emulated device
        place = LINKED["emulated"][0]
        (self.folder / place).parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-rs", str(ROOT / place), str(self.folder / place)], check=True)

    # -- faults

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Change the source, compile what it touches, and put all back at the end.

        Raises
        ------
        ValueError
            When text is not there exactly once.
        subprocess.CalledProcessError
            When the faulty source does not compile.
        """
        path = self.folder / mutant.file
        before = path.read_text()
        if before.count(mutant.old) != 1:
            raise ValueError(f"{mutant.file} has {before.count(mutant.old)} times: {mutant.old}")
        try:
            path.write_text(before.replace(mutant.old, mutant.new))
            with self._compiled(mutant.build, mutant.file):
                yield
        finally:
            path.write_text(before)

    @contextmanager
    def _compiled(self, build: str, file: str) -> Iterator[None]:
        if not build:
            yield
            return
        place, pattern = LINKED[build]
        tree, mine = ROOT / place, self.folder / place
        made = mine.parent / f"{mine.name}-faulty"
        shutil.rmtree(made, ignore_errors=True)
        subprocess.run(["cp", "-rs", str(tree), str(made)], check=True)
        objects = self._objects(tree, file)
        if build == "native":
            self._keep_one_isa()
            objects |= self._objects(tree, ONE_ISA[0])
        commands = {c["output"]: c["command"] for c in self._ninja_json(tree)}
        for name in sorted(o for o in objects if self._is_mine(o)):
            self._shell(made, made / name, commands[name])
        (so,) = (p.name for p in tree.glob(pattern))
        link = subprocess.run(
            [self._ninja(), "-C", str(tree), "-t", "commands", so], capture_output=True, text=True, check=True
        ).stdout.splitlines()[-1]
        self._shell(made, made / so, link)
        # the module is imported from the package, the plug-in of the emulated device found by its path
        target = (self.package if build == "native" else mine) / so
        backup = target.with_suffix(".kept")
        os.replace(target, backup)
        try:
            shutil.copy2(made / so, target)
            yield
        finally:
            os.replace(backup, target)

    def _keep_one_isa(self) -> None:
        """Leave only the instruction set that this machine uses in the list of the copy."""
        if not self._isa:
            words = [sys.executable, "-c", "from subsalt.kernels import cpu; print(cpu.available()[-1])"]
            done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
            self._isa = done.stdout.strip()
            path = self.folder / ONE_ISA[0]
            text = path.read_text()
            assert text.count(ONE_ISA[1]) == 1
            path.write_text(text.replace(ONE_ISA[1], ONE_ISA[2].format(isa=self._isa)))

    def _is_mine(self, name: str) -> bool:
        other = re.search(r"isa_(v2|v3|v4|generic)\.dir", name)
        return other is None or other[1] == self._isa

    @staticmethod
    def _ninja() -> str:
        return str(Path(sys.prefix) / "bin" / "ninja")

    def _ninja_json(self, tree: Path) -> list[dict[str, str]]:
        words = [self._ninja(), "-C", str(tree), "-t", "compdb"]
        result: list[dict[str, str]] = json.loads(
            subprocess.run(words, capture_output=True, check=True).stdout
        )
        return result

    def _objects(self, tree: Path, file: str) -> set[str]:
        """Return the objects of a build folder that depend on a source."""
        words = [self._ninja(), "-C", str(tree), "-t", "deps"]
        listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        wanted, objects, name = os.path.normpath(ROOT / file), set(), ""
        for line in listed.splitlines():
            if line and not line[0].isspace():
                name = line.partition(":")[0]
            elif os.path.normpath(tree / line.strip()) == wanted:
                objects.add(name)
        return objects

    def _shell(self, folder: Path, output: Path, command: str) -> None:
        """Run a command of the tree's build folder in the copy's; its output must not be written through a link."""
        output.unlink(missing_ok=True)
        here = command.replace(f"{ROOT}/", f"{self.folder}/")
        # what the build folder of the tree writes beside an object would go through links, too
        for word in shlex.split(here):
            if word.endswith(".o.d"):
                (folder / word).unlink(missing_ok=True)
        subprocess.run(here, shell=True, cwd=folder, check=True, capture_output=True, text=True)

    # -- tests

    def run_tests(self, words: str, seconds: float) -> tuple[str, str]:
        """Run tests of the copy up to the first that fails; return ``caught``, ``lived`` or ``broken``, and which."""
        arguments = [
            w if not w.partition("::")[0].endswith(".py") else f"tests/{w}" for w in shlex.split(words)
        ]
        line = [
            str(self.python),
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n0",
            "-rfE",
            "--tb=no",
            "-p",
            "no:cacheprovider",
        ]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SUBSALT_"))}
        env |= {"OMP_NUM_THREADS": "1", "PATH": f"{self.python.parent}:{env.get('PATH', '')}"}
        if "SUBSALT_SHARED_DATA" in os.environ:
            env["SUBSALT_SHARED_DATA"] = os.environ["SUBSALT_SHARED_DATA"]
        elif (shared := ROOT.parent / "shared" / "data").is_dir():
            env["SUBSALT_SHARED_DATA"] = str(shared)
        try:
            done = subprocess.run(
                [*line, *arguments], cwd=self.folder, env=env, capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return "caught", f"still running after {seconds:.0f} s"
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if done.returncode == 0:
            return "lived", ""
        if done.returncode == 1 and failed:
            return "caught", failed[1].removeprefix("tests/")
        # a fault may make the process fall; that somebody ended it says nothing
        if done.returncode < 0 and -done.returncode not in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            return "caught", f"the process fell: {signal.Signals(-done.returncode).name}"
        said = (done.stdout + done.stderr).strip().splitlines() or [f"pytest ended with {done.returncode}"]
        return "broken", said[-1][:160]
