"""Strike `subsalt` at its k-th file operation: kill it, fail the operation, or cut transfers short.

Most strikes hit the real command in a process that was forked after the imports, so that a strike costs the run itself;
the shim (`faultshim.c`) counts operations of all threads below the watched folders. `Striker.run` starts the installed
program instead.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

#: in memory, where there is such a folder: a kill needs no disk, and syncing takes most of the time of so small a run
ROOT = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None

COUNT, KILL, TORN, ONCE, FOREVER, SHORT = range(6)


def build(folder: Path) -> Path | None:
    """Compile the shim; None where there is no compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if not compiler:
        return None
    library = folder / "faultshim.so"
    source = Path(__file__).with_name("faultshim.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@dataclass(frozen=True)
class Point:
    """An operation of a run, named by what it does to which file, and by its number among these.

    A number among all operations says little: threads beside each other come now in this order, now in that.
    """

    k: int
    operation: str
    path: str

    @property
    def part(self) -> str:
        """Which part of the run it is on."""
        return part_of(self.path)

    @property
    def name(self) -> str:
        """What the shim calls it."""
        return f"{self.operation} {self.path}"


def part_of(path: str) -> str:
    """Return which part of a run a path belongs to."""
    name = path.rsplit("/", 1)[-1]
    if name.startswith(".") and name.count(".") > 2:  # temporary: .NAME.*.tmp
        name = name[1:].rsplit(".", 2)[0]
    if "/snapshots" in path or "/scratch" in path:
        return "scratch"
    if "/images" in path:
        return "partial image"
    if "/restart" in path:
        return "restart point"
    if "/rounds" in path:
        return "state"
    if "/iterations" in path:
        return "image of an iteration"
    for start, part in (
        ("ledger", "ledger"),
        ("image", "image"),
        ("gathers", "gathers"),
        ("hits", "gathers"),
        ("fold", "gathers"),
        ("illumination", "image"),
        ("report", "report"),
        ("run.json", "run.json"),
        ("run.lock", "lock"),
        ("events", "events"),
        ("job.resolved", "job"),
        ("progress", "progress"),
        ("crash", "crash note"),
    ):
        if name.startswith(start):
            return part
    return "folder"


@dataclass
class End:
    """How a command ended."""

    code: int
    out: str
    err: str
    struck: Point | None = None
    #: shots that were called done just before the end
    done: list[int] = field(default_factory=list)


@dataclass
class Striker:
    """Runs commands of subsalt with strikes; a context manager.

    Parameters
    ----------
    folder : Path
        For its own files.
    shim : Path
        The compiled shim.
    tells_every : float
        Seconds after which a run that goes on writes its progress again: an operation more, which comes by the clock.
        It may change between commands.
    """

    folder: Path
    shim: Path
    tells_every: float = math.inf
    struck: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.environment = os.environ | {
            "LD_PRELOAD": str(self.shim),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "NO_COLOR": "1",
            "SUBSALT_TUNE": "off",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __enter__(self) -> Striker:
        self.server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("strike_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )
        return self

    def __exit__(self, *error: object) -> None:
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait(30)
        assert self.server.stdout is not None
        self.server.stdout.close()

    def __call__(
        self,
        *words: object,
        at: int | Point = 0,
        mode: int = -1,
        arg: int = 0,
        under: str = "",
        here: bool = False,
        after: float = -1.0,
        shots: int = 0,
        run: str = "",
        disk: str = "",
    ) -> End:
        """Run the command in a forked process, struck as asked.

        Parameters
        ----------
        at, mode, arg, under
            The operation, what befalls it, and the folders in which operations count.
        here : bool
            Once in the process that is forked, so that all is imported.
        after : float
            Seconds after which the process is killed; negative for never. Behind the shots of `run` that are done by
            then, and behind a power cut of `disk`, a mounted ext4, when they are given.
        shots : int
            The seconds count from when so many shots of `run` are done.
        """
        log = self.folder / "struck.log"
        log.unlink(missing_ok=True)
        files = {name: str(self.folder / name) for name in ("out", "err")}
        order = {
            "argv": [str(w) for w in words],
            "at": at.k if isinstance(at, Point) else at,
            "named": at.name if isinstance(at, Point) else "",
            "mode": mode,
            "arg": arg,
            "under": under,
            "log": str(log) if mode >= 0 else "",
            "cwd": str(self.folder),
            "here": here,
            "after": after,
            "shots": shots,
            "run": run,
            "disk": disk,
            "tells_every": self.tells_every,
            **files,
        }
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        answer = json.loads(self.server.stdout.readline())
        out, err = (Path(files[n]).read_text(errors="replace") for n in ("out", "err"))
        return End(answer["code"], out, err, self._last(log) if mode > COUNT else None, answer["done"])

    def run(
        self,
        *words: object,
        at: int | Point = 0,
        mode: int = -1,
        arg: int = 0,
        under: str = "",
        prefix: tuple[str, ...] = (),
    ) -> End:
        """Start the installed program, struck as asked."""
        log = self.folder / "struck.log"
        log.unlink(missing_ok=True)
        faults = {
            "FAULT_AT": at.k if isinstance(at, Point) else at,
            "FAULT_NAMED": at.name if isinstance(at, Point) else "",
            "FAULT_MODE": mode,
            "FAULT_ARG": arg,
            "FAULT_UNDER": under,
            "FAULT_LOG": log,
        }
        done = subprocess.run(
            [*prefix, sys.executable, "-m", "subsalt", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment | {k: str(v) for k, v in faults.items() if mode >= 0},
            check=False,
        )
        return End(done.returncode, done.stdout, done.stderr, self._last(log) if mode > COUNT else None)

    def points(self, *words: object, under: str) -> list[Point]:
        """Return the operations of a command that is left alone, in order."""
        end = self(*words, mode=COUNT, at=0, under=under)
        assert end.code == 0, end.err
        seen: Counter[tuple[str, str]] = Counter()
        points_seen = []
        for line in (self.folder / "struck.log").read_text().splitlines():
            point = _point(line)
            seen[point.operation, point.path] += 1
            points_seen.append(replace(point, k=seen[point.operation, point.path]))
        return points_seen

    def _last(self, log: Path) -> Point | None:
        lines = log.read_text().splitlines() if log.exists() else []
        if not lines:
            return None
        point = _point(lines[0])
        self.struck[point.operation, point.part] += 1
        return point


def _point(line: str) -> Point:
    k, operation, path = line.split(" ", 2)
    return Point(int(k), operation, path)


def spread(points: list[Point], count: int) -> list[Point]:
    """Return so many points: of every operation on every part the first and the last, the rest evenly over all."""
    chosen: dict[Point, int] = {}
    place = {point: i for i, point in enumerate(points)}
    for few in (
        {(p.operation, p.part): p for p in reversed(points)},
        {(p.operation, p.part): p for p in points},
    ):
        for point in few.values():
            if len(chosen) < count:
                chosen[point] = place[point]
    left = [p for p in points if p not in chosen]
    more = max(0, count - len(chosen))
    for i in range(more if left else 0):
        point = left[i * len(left) // more]
        chosen[point] = place[point]
    return sorted(chosen, key=place.__getitem__)


def thinned(points: list[Point], every: int) -> list[Point]:
    """Return, of the points on each part of the run, the first and every ``every``-th after it."""
    seen: Counter[str] = Counter()
    chosen = []
    for point in points:
        if seen[point.part] % every == 0:
            chosen.append(point)
        seen[point.part] += 1
    return chosen


def one_of_each(points: list[Point]) -> list[Point]:
    """Return, of the points on each part of the run, one: early on some parts, in the middle or late on others."""
    parts: dict[str, list[Point]] = {}
    for point in points:
        parts.setdefault(point.part, []).append(point)
    chosen = {of[i * 5 % len(of)] for i, of in enumerate(parts.values())}
    return [point for point in points if point in chosen]


def matrix(struck: Counter[tuple[str, str]]) -> str:
    """Return a table of strikes: operations down, parts of the run across."""
    parts = sorted({part for _, part in struck})
    rows = [["", *parts, "all"]]
    for operation in sorted({o for o, _ in struck}):
        numbers = [struck[operation, part] for part in parts]
        rows.append([operation, *(str(n or "") for n in numbers), str(sum(numbers))])
    rows.append(["all", *(str(sum(n for (_, p), n in struck.items() if p == part)) for part in parts)])
    rows[-1].append(str(sum(struck.values())))
    text = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([text[0], "|---" * len(rows[0]) + "|", *text[1:]])
