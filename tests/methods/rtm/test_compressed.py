"""Compressed snapshots and states change the image by less than was allowed; restart points and float64 not at all."""

import numpy as np
import pytest
from scheme_cases import bits, migrated, scheme_of, scratch_in

pytest.importorskip("zfpy")

#: of snapshots; states get a tenth of it
TOLERANCE = 1e-3


def difference(image, plain, name):
    a, b = (x.sums[name].astype(np.float64) for x in (image, plain))
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("case", ["iso 2-D", "vti 2-D", "tti 2-D", "iso 3-D"])
@pytest.mark.parametrize(
    ("strategy", "more"),
    [
        ("store", {"snapshots_on": "disk", "chunk": 4}),
        ("revolve", {"block": 1, "disk_slots": 2}),
        ("revolve", {"block": 3, "memory_slots": 1, "disk_slots": 2}),
    ],
)
def test_the_image_is_off_by_less_than_the_tolerance(case, strategy, more, tmp_path):
    plain = migrated(case)
    with scratch_in(tmp_path, compression="zfp", tolerance=TOLERANCE) as scratch:
        image = migrated(case, scheme_of(case, strategy, **more), scratch)
    errors = {name: difference(image, plain, name) for name in plain.sums}
    assert 0 < max(errors.values()) < TOLERANCE


def test_other_numbers_than_float32_are_never_compressed(tmp_path):
    plain = migrated("reference")
    for strategy, more in (("store", {"snapshots_on": "disk"}), ("revolve", {"block": 2, "disk_slots": 2})):
        with scratch_in(tmp_path / strategy, compression="zfp", tolerance=0.1) as scratch:
            assert bits(migrated("reference", scheme_of("reference", strategy, **more), scratch)) == bits(
                plain
            )
