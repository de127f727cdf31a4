"""Stores of traces as MDIO v1 lays them out on Zarr, made with zarr alone."""

from __future__ import annotations

import numpy as np

#: a part of the header that MDIO keeps, under the names of the standard
HEADER = np.dtype(
    [
        ("orig_field_record_num", "<i4"), ("trace_num_orig_record", "<i4"), ("trace_id_code", "<i2"),
        ("source_to_receiver_distance", "<i4"), ("receiver_group_elevation", "<i4"),
        ("source_depth_below_surface", "<i4"), ("elevation_depth_scalar", "<i2"), ("coordinate_scalar", "<i2"),
        ("source_coord_x", "<i4"), ("source_coord_y", "<i4"), ("group_coord_x", "<i4"), ("group_coord_y", "<i4"),
    ]
)  # fmt: skip


def shots_store(path, survey, *, chunks=(2, 3, 40), dead=(), t0=0.0, unit="ms", coordinates=False, drop=()):
    """Write the shots of a survey: (shot_point, channel, time), headers, trace_mask, coordinates of dimensions.

    `coordinates` writes positions as arrays of float64 beside headers without them; `dead` are points of the grid
    without a trace; `drop` are arrays that are left out.
    """
    import zarr

    n, m, nt = len(survey.shots), len(survey.shots[0].rcv), survey.time.nt
    group = zarr.open_group(str(path), mode="w", zarr_format=3)
    group.attrs.update(
        {"apiVersion": "1.0.8", "name": "shots", "attributes": {"defaultVariableName": "amplitude"}}
    )
    dims = ("shot_point", "channel", "time")
    names = [n for n in HEADER.names if not (coordinates and "coord" in n)]
    heads = np.zeros((n, m), HEADER[names])
    data, mask = np.zeros((n, m, nt), np.float32), np.ones((n, m), bool)
    places = np.zeros((4, n, m))
    for i, shot in enumerate(survey.shots):
        data[i] = shot.data
        places[0, i], places[1, i] = shot.src[:2]
        places[2, i], places[3, i] = shot.rcv[:, 0], shot.rcv[:, 1]
        heads["orig_field_record_num"][i], heads["trace_num_orig_record"][i] = shot.id, np.arange(m) + 1
        heads["trace_id_code"][i], heads["elevation_depth_scalar"][i] = 1, -10
        heads["source_depth_below_surface"][i] = round(10 * shot.src[2])
        heads["receiver_group_elevation"][i] = np.rint(-10 * shot.rcv[:, 2])
        distance = np.rint(shot.rcv[:, 0] - shot.src[0])
        heads["source_to_receiver_distance"][i] = distance
    fields = ("source_coord_x", "source_coord_y", "group_coord_x", "group_coord_y")
    if not coordinates:
        heads["coordinate_scalar"] = -100
        for name, values in zip(fields, places, strict=True):
            heads[name] = np.rint(100 * values)
    for at in dead:
        mask[at], data[at] = False, np.nan
    factor = {"ms": 1e3, "s": 1.0, "us": 1e6, "yards": 1.0}[unit]
    arrays = {
        "shot_point": (np.array([s.id for s in survey.shots], np.int32), dims[:1], None),
        "channel": (np.arange(m, dtype=np.int32) + 1, dims[1:2], None),
        "time": ((t0 + survey.time.dt * np.arange(nt)) * factor, dims[2:], None),
        "trace_mask": (mask, dims[:2], None),
        "headers": (heads, dims[:2], chunks[:2]),
        "amplitude": (data, dims, chunks),
    }
    if coordinates:
        arrays |= {name: (values, dims[:2], None) for name, values in zip(fields, places, strict=True)}
    for name, (values, along, cut) in arrays.items():
        if name not in drop:
            array = group.create_array(
                name,
                shape=values.shape,
                dtype=values.dtype,
                chunks=cut or values.shape,
                dimension_names=along,
            )
            array[...] = values
            if name == "time":
                array.attrs["unitsV1"] = {"time": unit}
    return path
