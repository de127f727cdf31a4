"""Prestack files and analytic data for the tests of Kirchhoff migration.

    src, rcv = line_positions(...) or areal_positions(...)          # (n, 2) map positions, one row per trace
    traces = reflector_traces(src, rcv, nt, dt, v=2000.0, depth=800.0, dip=0.0)
    make_survey(path, src, rcv, traces, dt, order="cdp")

The medium has constant velocity and the acquisition lies at depth 0. Events are zero-phase Ricker pulses with their
peak at the traveltime; spreading is that of three dimensions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subsalt.io.array_bytes import raw_bytes
from subsalt.io.segy.rev1 import binary_header, choose_scalar, delay, microseconds, scaled, trace_rows
from subsalt.io.segy.samples import encode_text


def ricker(t, f0):
    """Return a Ricker pulse with its peak, 1, at t = 0."""
    a = (np.pi * f0 * t) ** 2
    return (1.0 - 2.0 * a) * np.exp(-a)


def line_positions(n_midpoints, spacing, offsets, x0=0.0, y0=0.0, azimuth=90.0):
    """Return (src, rcv), one row per trace: every midpoint of a straight line with every offset, midpoints outermost.

    `azimuth` in degrees clockwise from map y.
    """
    along = np.repeat(np.arange(n_midpoints) * spacing, len(offsets))
    half = 0.5 * np.tile(np.asarray(offsets, float), n_midpoints)
    u = np.array([np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth))])
    origin = np.array([x0, y0])
    return origin + (along - half)[:, None] * u, origin + (along + half)[:, None] * u


def areal_positions(x, y, offsets, azimuths=(0.0,)):
    """Return (src, rcv): every midpoint of x and y with every offset and azimuth, degrees clockwise from map y."""
    mx, my, h, a = (
        v.reshape(-1) for v in np.meshgrid(x, y, np.asarray(offsets, float) / 2, azimuths, indexing="ij")
    )
    step = h[:, None] * np.stack([np.sin(np.radians(a)), np.cos(np.radians(a))], axis=1)
    middle = np.stack([mx, my], axis=1)
    return middle - step, middle + step


def events(times, amplitudes, nt, dt, f0, t0=0.0):
    """Return traces (n, nt) float32 with one pulse each."""
    t = t0 + dt * np.arange(nt)
    return (amplitudes[:, None] * ricker(t[None] - times[:, None], f0)).astype(np.float32)


def reflector_traces(
    src, rcv, nt, dt, *, v=2000.0, depth=800.0, dip=0.0, azimuth=90.0, at=(0.0, 0.0), r=0.2, f0=25.0, t0=0.0
):
    """Return data of a plane reflector, r f(t - l / v) / (4 pi l), with l the way from the image of the source.

    Parameters
    ----------
    depth : float
        Of the plane below the map position `at`, m.
    dip : float
        Degrees; the plane goes down towards `azimuth`, degrees clockwise from map y.
    """
    slope, turn = np.radians(dip), np.radians(azimuth)
    # upward normal of a plane that goes down towards the azimuth; z is positive down
    normal = np.array([-np.sin(slope) * np.sin(turn), -np.sin(slope) * np.cos(turn), np.cos(slope)])
    point = np.array([at[0], at[1], depth])
    source = np.column_stack([src, np.zeros(len(src))])
    image = source - 2.0 * ((source - point) @ normal)[:, None] * normal
    way = np.linalg.norm(np.column_stack([rcv, np.zeros(len(rcv))]) - image, axis=1)
    return events(way / v, r / (4 * np.pi * way), nt, dt, f0, t0)


def diffractor_traces(src, rcv, nt, dt, *, v=2000.0, at=(0.0, 0.0, 800.0), r=1.0, f0=25.0, t0=0.0):
    """Return data of a point, r f(t - (ls + lr) / v) / (16 pi^2 ls lr)."""
    ls, lr = (np.sqrt(((p - np.array(at[:2])) ** 2).sum(axis=1) + at[2] ** 2) for p in (src, rcv))
    return events((ls + lr) / v, r / (16 * np.pi**2 * ls * lr), nt, dt, f0, t0)


def canonical(src, rcv):
    """Return (cdp, ffid, channel) numbers of traces: one CDP per midpoint, one field record per source position."""
    middle = np.round(0.5 * (src + rcv), 3)
    cdp = np.unique(middle, axis=0, return_inverse=True)[1].reshape(-1) + 1
    ffid = np.unique(np.round(src, 3), axis=0, return_inverse=True)[1].reshape(-1) + 1
    channel = np.empty(len(src), np.int64)
    order = np.lexsort((rcv[:, 1], rcv[:, 0], ffid))
    starts = np.r_[0, np.flatnonzero(np.diff(ffid[order])) + 1]
    channel[order] = np.arange(len(src)) - np.repeat(starts, np.diff(np.r_[starts, len(src)])) + 1
    return cdp, ffid, channel


def file_order(cdp, ffid, channel, offset, order):
    """Return the order in which traces stand in a file."""
    if order == "shot":
        return np.lexsort((channel, ffid))
    if order == "cdp":
        return np.lexsort((offset, cdp))
    if order == "given":
        return np.arange(len(cdp))
    return np.random.default_rng(11).permutation(len(cdp))


def make_survey(
    path,
    src,
    rcv,
    traces,
    dt,
    *,
    t0=0.0,
    order="shot",
    fmt="",
    coordinates=True,
    offsets=True,
    cdp=None,
    ffid=None,
    channel=None,
    elevation=0.0,
    inline=None,
    crossline=None,
):
    """Write a prestack file and return (path, order): row i of the file is row order[i] of the arguments.

    Parameters
    ----------
    src, rcv : array, (n, 2)
        Map positions of each trace, m.
    traces : array, (n, nt)
    order : {"shot", "cdp", "random", "given"}
    fmt : {"segy", "su"}
        Of the name when left out.
    coordinates, offsets : bool
        Write them; zeros otherwise.
    cdp, ffid, channel : array, (n,), optional
        Numbers; see `canonical`.
    elevation : float or array, (n,) or (2, n)
        Of source and receiver, m.
    inline, crossline : array, (n,), optional
        Line numbers; zeros when left out.
    """
    path = Path(path)
    su = (fmt or ("su" if path.suffix == ".su" else "segy")) == "su"
    src, rcv, traces = (np.asarray(a) for a in (src, rcv, traces))
    numbers = canonical(src, rcv)
    cdp, ffid, channel = (
        n if given is None else np.asarray(given)
        for n, given in zip(numbers, (cdp, ffid, channel), strict=True)
    )
    middle = 0.5 * (src + rcv)
    offset = np.hypot(*(rcv - src).T)
    # signed along x, or along y where x says nothing
    d = rcv - src
    sign = np.where(np.abs(d[:, 0]) > 1e-6, np.sign(d[:, 0]), np.where(d[:, 1] < 0, -1.0, 1.0))
    rows = file_order(cdp, ffid, channel, offset, order)
    n, nt = traces.shape
    raw, t = trace_rows(n, nt, "little" if su else "big")
    scalar = choose_scalar(np.concatenate([src.reshape(-1), rcv.reshape(-1), middle.reshape(-1)]))
    t["line_sequence"] = t["file_sequence"] = np.arange(n) + 1
    t["ffid"], t["channel"], t["cdp"] = ffid[rows], channel[rows], cdp[rows]
    t["trace_id"], t["use"], t["coordinate_scalar"], t["coordinate_units"] = 1, 1, scalar, 1
    t["elevation_scalar"] = -100
    for name, numbers_of in (("inline", inline), ("crossline", crossline)):
        if numbers_of is not None:
            t[name] = np.asarray(numbers_of)[rows]
    heights = np.broadcast_to(np.asarray(elevation, float), (2, n))[:, rows]
    t["source_elevation"], t["receiver_elevation"] = np.round(100 * heights)
    if offsets:
        t["offset"] = np.round((sign * offset)[rows])
    if coordinates:
        for name, points in (("source", src), ("receiver", rcv), ("cdp", middle)):
            for i, axis in enumerate("xy"):
                t[f"{name}_{axis}"] = scaled(points[rows, i], scalar)
    t["delay"], t["time_scalar"] = delay(t0)
    t["ns"], t["dt"] = nt, microseconds(dt)
    t["samples"] = traces[rows]
    if su:
        raw[:, 180:240] = 0
    with open(path, "wb") as f:
        if not su:
            f.write(encode_text(["PRESTACK TRACES OF A TEST"]))
            f.write(binary_header(nt, microseconds(dt), 1, {"shot": 1, "cdp": 2}.get(order, -1)))
        f.write(raw_bytes(raw))
    return path, rows
