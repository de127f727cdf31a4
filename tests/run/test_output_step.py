"""An image at every second line is every second line of the image: the operator knows bins, not output steps."""

import numpy as np
import segyio

from kirchhoff_jobs import areal, write_job
from subsalt.methods.rtm.job import Job
from subsalt.run.migrate import migrate_job


def traces_by_location(folder, name, **kirchhoff):
    """Migrate and return image traces by inline and crossline number."""
    job = Job.from_toml(write_job(folder, f"{name}.toml", kirchhoff={"gathers": "offset", **kirchhoff}))
    with segyio.open(migrate_job(job, folder / f"{name}.run").image, ignore_geometry=True) as f:
        inline, crossline = (
            f.attributes(segyio.TraceField.INLINE_3D)[:],
            f.attributes(segyio.TraceField.CROSSLINE_3D)[:],
        )
        return {(int(i), int(j)): t for i, j, t in zip(inline, crossline, f.trace.raw[:], strict=True)}


def test_an_image_of_some_locations_holds_the_bytes_of_the_whole(tmp_path):
    areal(tmp_path / "traces.sgy")
    classes = {"offset": {"first": 100, "last": 500, "step": 200}}
    whole = traces_by_location(tmp_path, "whole", **classes)
    lines = {
        "inline": {"first": 12, "last": 16, "step": 2},
        "crossline": {"first": 119, "last": 104, "step": -3},
    }
    some = traces_by_location(tmp_path, "some", **classes, **lines)
    assert len(some) == 18
    assert np.abs(some[12, 113]).max() > 0
    for place, trace in some.items():
        np.testing.assert_array_equal(trace, whole[place])
