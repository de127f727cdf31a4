"""Snapshots in 16 bits: half the memory and disk, nearly the same image, and one set of bits for all ways."""

from dataclasses import replace

import numpy as np
import pytest
from scheme_cases import bits, migrated, scheme_of, scratch_in, setup_of, shot_of

from subsalt.checkpoint.choice.choose import choose
from subsalt.checkpoint.choice.footprint import Sizes, footprint
from subsalt.checkpoint.choice.inputs import ChoiceInputs
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.checkpoint.storage.wavefield import open_stored
from subsalt.errors import ConfigError
from subsalt.kernels.scaled16 import row16
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.memory import sizes_of

#: relative L2 of the image. A number is off by 2^-15 of the largest of 64, which is some times their rms: the sums have
#: hundreds of such products, whose errors have any sign
TOLERANCE = 1e-3
MEDIA = ["iso 2-D", "vti 2-D", "tti 2-D", "iso 3-D", "free surface"]
WAYS = [
    ("store", {}),
    ("store", {"snapshots_on": "disk", "chunk": 4}),
    ("revolve", {"block": 3, "memory_slots": 2}),
    ("revolve", {"block": 3, "memory_slots": 1, "disk_slots": 2, "keep": "source"}),
    ("store", {"keep": "both", "restart_every": 30}),
]


@pytest.mark.parametrize("case", MEDIA)
def test_the_image_is_nearly_that_of_whole_snapshots(case):
    plain, image = migrated(case), migrated(case, halved=True)
    assert bits(image) != bits(plain)
    for name, a in plain.sums.items():
        difference = np.linalg.norm(image.sums[name].astype(np.float64) - a) / np.linalg.norm(a)
        assert difference < TOLERANCE, name
    if "illumination" in plain.sums:  # summed from the wavefield itself
        assert np.array_equal(image.sums["illumination"], plain.sums["illumination"])


@pytest.mark.parametrize("case", ["vti 2-D", "tti 3-D"])
def test_every_way_gives_the_same_bits(case, tmp_path):
    want = bits(migrated(case, halved=True))
    for number, (strategy, more) in enumerate(WAYS):
        with scratch_in(tmp_path / str(number), compression="f16") as scratch:
            got = migrated(case, scheme_of(case, strategy, **more), scratch, halved=True)
        assert bits(got) == want, (strategy, more)


def test_the_reference_takes_the_same_way():
    plain, image = migrated("reference"), migrated("reference", halved=True)
    a, b = (x.sums["correlation"].astype(np.float64) for x in (plain, image))
    assert 0 < np.linalg.norm(a - b) < TOLERANCE * np.linalg.norm(a)


def test_kept_wavefields_come_back_in_single_precision(tmp_path):
    case = "iso 2-D"
    fields = []
    for name, more in (("plain", {}), ("halved", {"compression": "f16"})):
        with scratch_in(tmp_path / name, **more) as scratch:
            migrated(case, scheme_of(case, "store", keep="both"), scratch, halved=bool(more))
        for which in ("source", "receiver"):
            with open_stored(scratch.directories, shot_of(case).id, which) as stored:
                fields.append(np.stack([stored.read(i).copy() for i in stored.samples]))
    for whole, halved in zip(fields[:2], fields[2:], strict=True):
        assert halved.dtype == np.float32
        assert 0 < np.linalg.norm(halved - whole) < 1e-4 * np.linalg.norm(whole)


def test_memory_and_disk_are_about_half(tmp_path):
    setup, shot = setup_of("iso 2-D"), shot_of("iso 2-D")
    arrays = RankArrays.of(setup, shot)
    nx, ny, nz = arrays.domain.interior.shape
    whole, halved = (sizes_of(setup, [arrays], on_device=False, halved=h) for h in (False, True))
    assert halved.snapshot == 2 * nx * ny * row16(nz)
    scheme = scheme_of("iso 2-D", "store", snapshots_on="disk", chunk=4)
    with scratch_in(tmp_path, compression="f16") as scratch:
        image = migrated("iso 2-D", scheme, scratch, halved=True)
    # records have a page each before and after what they hold
    assert image.storage.bytes_written == halved.samples * halved.snapshot
    needs = [footprint(scheme_of("iso 2-D", "store"), s) for s in (whole, halved)]
    assert needs[1].memory / needs[0].memory == halved.snapshot / whole.snapshot < 0.55


def test_f16_is_chosen_like_whole_snapshots_but_never_the_boundary_nor_a_gpu():
    options = CheckpointOptions(compression="f16", exact=False)
    sizes = Sizes(steps=203, image_step=4, snapshot=508_000, state=4_000_000, shell=100_000, level=2_000_000)
    inputs = ChoiceInputs(options, 1 << 30, 0, 1e-3, 1e9, 1e9, device=1 << 30)
    enough = choose(sizes, inputs)
    little = choose(sizes, replace(inputs, memory=enough.best.need.memory - 1))
    assert [c.best.name for c in (enough, little)] == ["store, memory", "revolve, memory"]
    for choice in (enough, little):
        assert all(c.problem for c in choice.alternatives if c.name.startswith("boundary"))
    with pytest.raises(ConfigError, match="wavefields are on a GPU") as caught:
        choose(replace(sizes, on_device=True), inputs)
    assert 'device = "cpu"' in caught.value.fix
