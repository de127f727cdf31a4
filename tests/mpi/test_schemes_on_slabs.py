"""Schemes on a group of ranks: the image of one process, whatever is stored where, damaged, or interrupted."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from launch import MPI, run
from scheme_cases import migrated

from thorough import ALL, each, pairs

pytestmark = MPI

HERE = Path(__file__).parent
CASES = ("vti 2-D", "tti 2-D", "iso 3-D", "tti 3-D")

#: what all programs begin with: `planes` are the sums by plane of the model
HEAD = f"""
        import sys
        sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent / "methods" / "rtm")!r}]
        from itertools import islice
        from pathlib import Path
        import pickle
        import numpy as np
        from scheme_cases import migrated, scheme_of
        from subsalt.checkpoint.schedule.tasks import counts_of
        from subsalt.checkpoint.storage.scratch import Scratch
        from subsalt.parallel.comm import world

        group = world()
        wanted = pickle.load(open(ANSWERS, "rb"))

        def planes(image):
            first = image.box.lo[0]
            return {{f"{{n}} {{first + i}}": p for n, a in image.sums.items() for i, p in enumerate(a)}}

        def right(case, image):
            own = all(np.array_equal(p, wanted[f"{{case}} {{k}}"]) for k, p in planes(image).items())
            total = group.sum(len(planes(image)))
            return own and total == sum(k.startswith(case + " ") for k in wanted)

        def scratch(folder):
            return Scratch("run", [Path(folder)], rank=group.rank, ranks=group.size)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the answers of one process."""
    path, planes = tmp_path_factory.mktemp("answers") / "answers.pickle", {}
    for case, name, halved in [(c, c, False) for c in CASES] + [(CASES[0], "f16", True)]:
        image = migrated(case, halved=halved)
        first = image.box.lo[0]
        planes |= {f"{name} {n} {first + i}": p for n, a in image.sums.items() for i, p in enumerate(a)}
    assert any(plane.any() for plane in planes.values())
    path.write_bytes(pickle.dumps(planes))
    return path


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_scheme_gives_the_planes_of_one_process(ranks: int, answers: Path, tmp_path: Path) -> None:
    # every case and every scheme, on two ranks or on three
    tried = [row[1:] for row in pairs((2, 3), CASES, range(4)) if row[0] == ranks]
    tried = tried if ALL else each(CASES, range(4))[ranks % 2 :: 2]
    done = run(
        ranks,
        HEAD.replace("ANSWERS", repr(str(answers)))
        + f"""
        schemes = [
            ("revolve", dict(block=2, memory_slots=2)),
            ("revolve", dict(block=1, memory_slots=1, disk_slots=3)),
            ("store", dict(snapshots_on="disk", chunk=4)),
            ("store", dict(keep="both", chunk=3, restart_every=30)),
        ]
        for case, number in {tried!r}:
            strategy, more = schemes[number]
            scheme = scheme_of(case, strategy, **more)
            image = migrated(case, scheme, scratch({str(tmp_path)!r} + f"/{{case}} {{number}}"), group)
            print(case, number, right(case, image), image.counts == counts_of(scheme))
        scheme = scheme_of({CASES[0]!r}, "store", snapshots_on="disk", keep="both")
        disk = scratch({str(tmp_path)!r} + "/f16")
        disk.compression = "f16"
        image = migrated({CASES[0]!r}, scheme, disk, group, halved=True)
        print("f16", right("f16", image), image.counts == counts_of(scheme))
        """,
    )
    assert done.rc == 0, done
    for out in done.out:
        lines = out.splitlines()
        assert len(lines) == len(tried) + 1, done
        assert all(line.endswith("True True") for line in lines), done


def test_damage_on_one_rank_is_mended_by_all(answers: Path, tmp_path: Path) -> None:
    done = run(
        3,
        HEAD.replace("ANSWERS", repr(str(answers)))
        + f"""
        from subsalt.checkpoint.storage.file_store import FileStore
        from subsalt.errors import SnapshotDamaged
        read, gets = FileStore.get, [0]

        def get(store, key):
            gets[0] += 1
            if group.rank == gets[0] % 4:  # every rank meets damage of its own, sometimes none does
                store.counts.damaged += 1
                raise SnapshotDamaged(key, "a test")
            return read(store, key)

        FileStore.get = get
        for number, (strategy, more) in enumerate([
            ("revolve", dict(block=1, memory_slots=1, disk_slots=3)),
            ("store", dict(snapshots_on="disk", chunk=4)),
        ]):
            scheme = scheme_of("vti 2-D", strategy, **more)
            image = migrated("vti 2-D", scheme, scratch({str(tmp_path)!r} + f"/{{number}}"), group)
            print(right("vti 2-D", image), image.recomputed, image.storage.damaged > 0)
        """,
    )
    assert done.rc == 0, done
    assert done.out == [done.out[0]] * 3, done  # the ranks recompute together
    for line in done.out[0].splitlines():
        same, recomputed, damaged = line.split()
        assert (same, damaged) == ("True", "True"), done
        assert int(recomputed) > 0, done


def test_a_group_goes_on_from_the_newest_point_that_all_have(answers: Path, tmp_path: Path) -> None:
    program = (
        HEAD.replace("ANSWERS", repr(str(answers)))
        + f"""
        from subsalt.checkpoint.schedule.tasks import tasks_of
        from subsalt.methods.rtm import executor
        for number, (strategy, more) in enumerate([
            ("store", dict(restart_every=12)),
            ("revolve", dict(block=1, memory_slots=2, disk_slots=2, restart_every=9)),
        ]):
            scheme = scheme_of("vti 2-D", strategy, **more)
            folder = Path({str(tmp_path)!r}) / str(number)
            if sys.argv[-1] == "struck":
                points = [i for i, t in enumerate(tasks_of(scheme)) if t.kind == "point"]

                def some(scheme, end=points[3] + 2):  # the executor looks one task ahead
                    yield from islice(tasks_of(scheme), end)
                    raise RuntimeError("struck")

                executor.tasks_of = some
                try:
                    migrated("vti 2-D", scheme, scratch(folder), group)
                except RuntimeError:
                    group.agree()
                executor.tasks_of = tasks_of
                if group.rank == 1:  # it had not published its last point
                    found = folder.rglob("restart.g*.r01.json")
                    max(found, key=lambda p: json.loads(p.read_text())["generation"]).unlink()
            else:
                image = migrated("vti 2-D", scheme, scratch(folder), group)
                print(right("vti 2-D", image), image.resumed, image.recomputed)
        """
    )
    struck = program.replace("import sys\n", "import json, sys\n        sys.argv.append('struck')\n", 1)
    done = run(2, struck)
    assert done.rc == 0, done
    done = run(2, program)
    assert done.rc == 0, done
    assert done.out == [done.out[0]] * 2, done
    for line in done.out[0].splitlines():
        same, resumed, recomputed = line.split()
        assert (same, recomputed) == ("True", "0"), done
        assert int(resumed) > 0, done
