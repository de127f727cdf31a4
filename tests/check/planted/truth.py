"""What a job holds (positions, times, samples, models), and how that differs from what the clean survey holds."""

from __future__ import annotations

import numpy as np

#: what positions may be off, m: the last digit of a header in decimetres, and the rounding of a rotation
CLOSE = 0.5
#: what the samples of a trace may be off, relative to its rms: 8 bits are coarser than that, all other formats finer
ALIKE = 0.02
#: what a peak frequency may be off, which a spectrum of few traces gives to a tenth, and its time in periods with it
FREQUENCY = 0.15


def truth(job) -> dict[str, object]:
    """Return positions, time axis, traces and model of a job, as a run would take them.

    Positions are those in the model, counted from its first node: what the image depends on. Those of a time
    migration are on the map, and its model is the rms velocity in the middle of the image. ``row`` numbers the traces
    of a shot from 0, ``shot`` is its number.
    """
    if type(job).__name__ == "KirchhoffJob":
        return _of_time(job)
    survey = job.load_survey()
    model = job.load_model()
    first = np.array(model.grid.origin3)
    volumes = {n: model.volume(n) for n in ("vp", "epsilon", "delta", "theta", "phi")}
    return {
        "src": np.concatenate([np.broadcast_to(s.src - first, s.rcv.shape) for s in survey.shots]),
        "rcv": np.concatenate([s.rcv - first for s in survey.shots]),
        "shot": np.concatenate([np.full(len(s.rcv), s.id) for s in survey.shots]),
        "row": np.concatenate([np.arange(len(s.rcv)) for s in survey.shots]),
        "time": survey.time,
        "data": np.concatenate([survey.traces(s) for s in survey.shots]),
        "model": {n: np.asarray(v) for n, v in volumes.items() if v is not None},
        "source": _source(job, survey.time.dt),
    }


def _source(job, dt) -> tuple[float, float] | None:
    """Return the peak frequency of the wavelet, Hz, and the time of its largest sample, s."""
    if job.source.f0 is None:
        return None
    wavelet = job.wavelet(0.05 / job.source.f0)
    return job.source.f0, wavelet.t0 + wavelet.dt * int(np.abs(wavelet.samples).argmax())


def _of_time(job) -> dict[str, object]:
    table = job.open_table()
    end = [np.zeros((len(table), 1))]
    src, rcv = (np.concatenate([p, *end], axis=1) for p in (table.src, table.rcv))
    row = np.zeros(len(table), int)
    for shot in np.unique(table.ffid):
        row[table.ffid == shot] = np.arange((table.ffid == shot).sum())
    grid = job.image_grid(table)
    v, eta = job.open_velocity(grid).at(grid.positions()[grid.size // 2 :][:1], table.time)
    return {
        "src": src,
        "rcv": rcv,
        "shot": np.asarray(table.ffid),
        "row": row,
        "time": table.time,
        "data": table.traces(np.arange(len(table))),
        "model": {"velocity": v} | ({} if eta is None else {"eta": eta}),
    }


def _key(t, axes: int) -> list[tuple]:
    """Return each pair of source and receiver, rounded, by their first axes."""
    both = np.concatenate([t["src"][:, :axes], t["rcv"][:, :axes]], axis=1)
    return [tuple(row) for row in np.round(both / CLOSE).astype(int).tolist()]


def rows_of(now, then) -> np.ndarray:
    """Return the trace of the clean survey at the place of each trace that a job holds; -1 where none is.

    On the map, so that depths may be off; by depth, too, where instruments stand above each other.
    """
    keys, axes = _key(then, 2), 2
    if len(set(keys)) < len(keys):
        keys, axes = _key(then, 3), 3
    known = {key: i for i, key in enumerate(keys)}
    rows = []
    for key in _key(now, axes):
        near = (
            key,
            *(tuple(k + d * (i == j) for j, k in enumerate(key)) for i in range(2 * axes) for d in (-1, 1)),
        )
        rows.append(next((known[k] for k in near if k in known), -1))
    return np.array(rows)


def differs(now, then, keeps: float) -> str:
    """Return how what a job holds differs from the clean survey; empty when it does not.

    Traces may have been left out, or set to zero, as long as the share `keeps` of them is there.
    """
    a, b = now["time"], then["time"]
    if abs(a.dt - b.dt) > 1e-9 or abs(a.t0 - b.t0) > 1e-6 or a.nt > b.nt or a.nt < 0.7 * b.nt:
        return f"the time axis is {a}, of the clean survey {b}"
    rows = rows_of(now, then)
    if (rows < 0).any():
        i = int(np.argmax(rows < 0))
        s, r = now["src"][i], now["rcv"][i]
        return f"{int((rows < 0).sum())} traces where none is, first source {s} receiver {r}"
    if len(np.unique(rows)) < len(rows):
        return f"{len(rows) - len(np.unique(rows))} traces are there twice"
    if len(rows) < keeps * len(then["src"]):
        return f"{len(rows)} of {len(then['src'])} traces are left"
    for name in ("src", "rcv"):
        off = np.abs(now[name] - then[name][rows]).max()
        if off > CLOSE:
            return f"{name} off by {off:.4g} m"
    return (
        _differing_source(now.get("source"), then.get("source"))
        or _differing_samples(now, then, rows, keeps)
        or _differing_models(now["model"], then["model"])
    )


def same(now, before) -> bool:
    """Return whether two jobs hold the same, trace by trace."""
    if before is None or now["time"] != before["time"] or now["src"].shape != before["src"].shape:
        return False
    return all(np.array_equal(now[n], before[n], equal_nan=True) for n in ("src", "rcv", "data")) and not (
        _differing_models(now["model"], before["model"]) or now.get("source") != before.get("source")
    )


def _differing_source(now, then) -> str:
    if now is None or then is None:
        return "" if now == then else "the wavelet is another one"
    (f, t), (right, peak) = now, then
    if abs(f / right - 1.0) > FREQUENCY or abs(t - peak) * right > FREQUENCY:
        return f"the wavelet peaks at {f:.4g} Hz and {t:.4g} s, in the clean survey at {right:.4g} Hz and {peak:.4g} s"
    return ""


def _differing_samples(now, then, rows, keeps) -> str:
    x, y = now["data"].astype(float), then["data"][rows].astype(float)[:, : now["time"].nt]
    dead = ~x.any(axis=1)
    off = np.sqrt(((x - y) ** 2).sum(axis=1)) > ALIKE * np.sqrt((y**2).sum(axis=1))
    if (off & ~dead).any():
        return f"the samples of {int((off & ~dead).sum())} of {len(off)} traces are others"
    return "" if (~dead).sum() >= keeps * len(then["data"]) else f"{int(dead.sum())} traces are zero"


def _differing_models(now, then) -> str:
    for name in sorted({*now, *then}):
        if name not in now or name not in then:
            return f"{name} is not in both models"
        if now[name].shape != then[name].shape:
            return f"{name} has shape {now[name].shape} for {then[name].shape}"
        off = float(np.abs(now[name] - then[name]).max())
        if off > 2e-3 * float(np.abs(then[name]).max()) + 1e-9:
            return f"{name} is off by {off:.4g}"
    return ""
