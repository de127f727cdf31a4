"""The image of a shot does not depend on its scheme, bit for bit; and what was counted is what was planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scheme_cases import CASES, bits, migrated, scheme_of, scratch_in, setup_of, shot_of

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.checkpoint.storage.wavefield import open_stored
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.methods.rtm.reuse import StoredFields, sums_of_wavefields
from thorough import ALL

#: strategy and what it is given; every one in every medium, and in 3-D
SCHEMES = {
    "no slots": ("revolve", {"block": 2}),
    "one slot": ("revolve", {"block": 1, "memory_slots": 1}),
    "few slots": ("revolve", {"block": 3, "memory_slots": 2}),
    "a slot for all": ("revolve", {"block": 4, "memory_slots": 100}),
    "one block": ("revolve", {"block": 10_000}),
    "disk slots": ("revolve", {"block": 2, "disk_slots": 3}),
    "both": ("revolve", {"block": 1, "memory_slots": 2, "disk_slots": 2}),
    "segments": ("revolve", {"block": 1, "memory_slots": 2, "disk_slots": 40, "disk_costs": (200, 100)}),
    "snapshots on disk": ("store", {"snapshots_on": "disk", "chunk": 4}),
    "one chunk": ("store", {"snapshots_on": "disk"}),
    "kept": ("store", {"keep": "both", "chunk": 3}),
    "kept, revolve": ("revolve", {"block": 3, "memory_slots": 2, "keep": "source", "chunk": 2}),
    "restart": ("store", {"restart_every": 20}),
    "restart, revolve": ("revolve", {"block": 2, "memory_slots": 2, "disk_slots": 2, "restart_every": 15}),
    "restart, disk": ("store", {"snapshots_on": "disk", "chunk": 5, "restart_every": 30, "keep": "both"}),
}


#: of the schemes, every third from each of these on is tried with a case in ``make test``
THIRDS = {
    "iso 2-D": (0,),
    "vti 2-D": (0, 1, 2),
    "tti 2-D": (1, 2),
    "iso 3-D": (1,),
    "vti 3-D": (2,),
    "tti 3-D": (0,),
    "free surface": (2,),
    "damping": (0,),
    "reference": (1,),
}


def tried(case: str) -> list[str]:
    """Return the names of the schemes that are tried with a case."""
    thirds = (0, 1, 2) if ALL else THIRDS[case]
    return [name for number, name in enumerate(SCHEMES) if number % 3 in thirds]


def made(case: str, name: str) -> Scheme:
    strategy, more = SCHEMES[name]
    if more.get("block", 0) > 1000:
        more = more | {"block": scheme_of(case, "store").block}
    return scheme_of(case, strategy, **more)


@pytest.mark.parametrize("case", CASES)
def test_every_scheme_gives_the_same_bits_and_the_planned_counts(case: str, tmp_path: Path) -> None:
    plain = migrated(case)
    assert plain.counts == counts_of(scheme_of(case, "store"))
    assert plain.storage == StoreCounts()
    wanted = bits(plain)
    assert any(any(a) for a in wanted.values())
    for number, name in enumerate(tried(case)):
        scheme, scratch = made(case, name), scratch_in(tmp_path / str(number))
        with cpu.forced(threads=1 + number % 3):
            image = migrated(case, scheme, scratch)
        scratch.close()
        assert bits(image) == wanted, name
        assert image.counts == counts_of(scheme), name
        assert (image.recomputed, image.resumed, image.storage.damaged) == (0, 0, 0), name


def test_stores_move_what_the_counts_say(tmp_path: Path) -> None:
    setup_bytes = {}
    for number, name in enumerate(("snapshots on disk", "both", "segments", "kept")):
        scheme, scratch = made("vti 2-D", name), scratch_in(tmp_path / str(number))
        image = migrated("vti 2-D", scheme, scratch)
        scratch.close()
        counts, moved = counts_of(scheme), image.storage
        assert moved.puts == counts.snapshots_written + counts.states_stored_disk, name
        assert moved.gets == counts.snapshots_read + counts.states_loaded_disk, name
        setup_bytes[name] = moved.bytes_written
    snapshot = setup_bytes["snapshots on disk"] // made("vti 2-D", "snapshots on disk").samples
    assert snapshot == 4 * 44 * 31
    assert setup_bytes["kept"] == 2 * snapshot * made("vti 2-D", "kept").samples


@pytest.mark.parametrize("case", ["vti 2-D", "free surface"])  # samples that divide the steps, and not
@pytest.mark.parametrize("strategy", ["store", "revolve"])
def test_kept_wavefields_are_those_that_made_the_image(case: str, strategy: str, tmp_path: Path) -> None:
    more = {"block": 3, "memory_slots": 2} if strategy == "revolve" else {"snapshots_on": "disk"}
    scheme, scratch = scheme_of(case, strategy, keep="both", chunk=4, **more), scratch_in(tmp_path)
    image = migrated(case, scheme, scratch)
    scratch.close()
    both = [open_stored(scratch.directories, 7, name) for name in ("source", "receiver")]
    setup, samples = setup_of(case), range(1, scheme.samples + 1)
    window = setup.window(shot_of(case))
    sums = sums_of_wavefields(setup, window, list(image.sums), StoredFields(samples, *both))
    assert {name: a.tobytes() for name, a in sums.items()} == bits(image)
    if scheme.steps == scheme.samples * scheme.image_step:
        assert not both[1].read(scheme.samples).any()  # before the first step of the receiver wavefield


def test_scratch_is_gone_after_a_shot_but_for_what_is_kept(tmp_path: Path) -> None:
    for name in ("snapshots on disk", "both"):
        scratch = scratch_in(tmp_path / name)
        migrated("iso 2-D", made("iso 2-D", name), scratch)
        scratch.close()
        assert not [p for p in (tmp_path / name).rglob("*") if p.is_file()], name
    scratch = scratch_in(tmp_path / "kept")
    migrated("iso 2-D", made("iso 2-D", "kept"), scratch)
    scratch.close()
    assert {p.name.split(".")[0] for p in (tmp_path / "kept").rglob("*.snap")} == {"source", "receiver"}


def test_a_scheme_that_writes_needs_a_folder() -> None:
    for name in ("snapshots on disk", "both", "kept", "restart"):
        with pytest.raises(
            ConfigError, match="shot 7: a scheme that writes to disk without a folder"
        ) as caught:
            migrated("iso 2-D", made("iso 2-D", name))
        assert caught.value.code == "E871"


def test_a_scheme_of_another_shot_is_refused() -> None:
    scheme = scheme_of("iso 2-D", "store")
    with pytest.raises(ConfigError, match=r"a scheme for \d+ steps, every 3th imaged; shot 7 has") as caught:
        migrated("iso 2-D", Scheme("store", scheme.steps + 1, 3))
    assert caught.value.code == "E870"


@pytest.mark.parametrize("case", ["iso 2-D", "vti 3-D", "tti 2-D"])
def test_boundary_gives_the_image_to_rounding_and_the_planned_counts(case: str, tmp_path: Path) -> None:
    plain = migrated(case)
    scratch = scratch_in(tmp_path)
    for more in ({}, {"chunk": 3}, {"chunk": 3, "snapshots_on": "disk"}):
        scheme = scheme_of(case, "boundary", **more)
        image = migrated(case, scheme, scratch)
        assert image.counts == counts_of(scheme)
        assert image.sums["illumination"].tobytes() == plain.sums["illumination"].tobytes()
        wanted, images = (i.sums["correlation"].astype(np.float64) for i in (plain, image))
        error = np.linalg.norm(images - wanted) / np.linalg.norm(wanted)
        # a rounding error per step back, of two fields: at worst they add up (tests/methods/rtm/test_reversal.py)
        assert 0 < error < 2 * scheme.steps * np.finfo(np.float32).eps
    scratch.close()
    with pytest.raises(ConfigError, match="without a folder"):
        migrated(case, scheme_of(case, "boundary", snapshots_on="disk"))
