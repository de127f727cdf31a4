"""Mistakes of time: sampling interval, delay, times of a job in ms; 6, 8, 34, 36."""

from __future__ import annotations

import numpy as np

from planted.form import ANYWHERE, plants

DT = r"sampl(e|ing) interval|\bdt\b"


def both(f, dt):
    """Set the interval in trace and binary headers."""
    f.put(dt=dt).binary(3217, "h", dt if dt < 32768 else dt - 65536)


def micro(case):
    """Return the right interval in microseconds."""
    return round(case.world.time.dt * 1e6)


@plants(6, "in ms: 5 for 5000", bases="line patch time", where="all one", says=DT)
def dt_in_ms(case, which):
    case.edit(lambda f: both(f, micro(case) // 1000), which)


@plants(6, "halved", bases="line patch time spread", where="all one", says=DT)
def dt_halved(case, which):
    case.edit(lambda f: both(f, micro(case) // 2), which)


@plants(6, "doubled", bases="line patch time spread", where="all one", says=DT)
def dt_doubled(case, which):
    case.edit(lambda f: both(f, micro(case) * 2), which)


def _give(case):
    """Give the interval that the observer's report says: where no header has it, a cure can only ask for it."""
    put(case.job, "data.fix", dt=case.world.time.dt)


GIVE = (r"give (it|the interval)[^|]*\[data\.fix\] dt", _give)


@plants(6, "clipped: 32767", bases="line time", where="all one", says=DT, deed=GIVE)
def dt_clipped(case, which):
    case.edit(lambda f: both(f, 32767), which)


@plants(6, "negative", bases="line time", where="all one", says=DT)
def dt_negative(case, which):
    wrong = -micro(case)
    case.edit(lambda f: f.put(dt=np.int16(wrong).astype(np.uint16)).binary(3217, "h", wrong), which)


@plants(6, "zero", bases="line time", where="all one", says=DT, deed=GIVE)
def dt_zero(case, which):
    case.edit(lambda f: both(f, 0), which)


@plants(6, "binary header halved, traces right", bases="line time", where="all one", says=DT)
def dt_binary(case, which):
    case.edit(lambda f: f.binary(3217, "h", micro(case) // 2), which)


@plants(6, "traces halved, binary header right", bases="line patch time", where="all one", says=DT)
def dt_traces(case, which):
    case.edit(lambda f: f.put(dt=micro(case) // 2), which)


@plants(6, "halved in some traces of a file", bases="line time", where="one", says=DT)
def dt_of_some(case, which):
    n = micro(case)
    case.edit(lambda f: f.put(dt=np.where(np.arange(len(f)) < 20, n, n // 2)), which)


DELAY = r"delay|time zero|first sample|ms too (late|early)"


@plants(
    8, "200 ms in the headers, not in the data", bases="line patch time spread", where="all one", says=DELAY
)
def delay_wrong(case, which):
    case.edit(lambda f: f.put(delay=200), which)


def rolled(f, samples):
    """Let the traces begin `samples` later, or earlier."""
    x = f.samples
    out = np.zeros_like(x)
    n = x.shape[1]
    out[:, max(0, -samples) : n - max(0, samples)] = x[:, max(0, samples) : n - max(0, -samples)]
    if samples < 0:
        rng = np.random.default_rng(2)
        out[:, :-samples] = 1e-5 * np.abs(x).max() * rng.standard_normal((len(x), -samples))
    f.samples = out


def _log(delay):
    """Return the deed of who gives the delay of the observer's log: first breaks alone tell it to a cycle."""
    return (
        r"observer's log[^|]*\[data\.fix\] delay = \.\.\.",
        lambda case: put(case.job, "data.fix", delay=delay),
    )


@plants(
    8,
    "data 200 ms late, the headers say 0",
    bases="line patch time spread",
    where="all one",
    says=DELAY,
    deed=_log(-0.2),
)
def data_late(case, which):
    case.edit(lambda f: rolled(f, -round(0.2 / case.world.time.dt)), which)


@plants(
    8,
    "data begin at 200 ms, the headers say 0",
    bases="line patch time spread",
    where="all one",
    says=DELAY,
    deed=_log(0.2),
)
def delay_missing(case, which):
    case.edit(lambda f: rolled(f, round(0.2 / case.world.time.dt)), which)


# 34

MS = r"\bms\b|millisecond"


def job_key(number, form, base, place, change, says=MS, **more):
    """Register a mistake of a key of the job."""
    plants(number, form, bases=base, where="job", says=says, place=place, **more)(
        lambda case, which: change(case.job)
    )


def put(job, section, **values):
    """Set keys of a table, of a table in it when the name has a dot."""
    table = job
    for part in section.split("."):
        table = table.setdefault(part, {})
    table.update(values)


job_key(
    34,
    "mute: delay 180, taper 40",
    "muted-by-job",
    "mute",
    lambda j: put(j, "data.mute", delay=180.0, taper=40.0),
)
job_key(34, "mute: taper 40", "muted-by-job", "mute|taper", lambda j: put(j, "data.mute", taper=40.0))
job_key(34, "fix: dt = 5", "line", "dt", lambda j: put(j, "data.fix", dt=5.0))
job_key(34, "fix: dt = 4", "patch", "dt", lambda j: put(j, "data.fix", dt=4.0))
job_key(34, "fix: dt = 5", "time", "dt", lambda j: put(j, "data.fix", dt=5.0))
job_key(34, "fix: delay = 48", "delays", "delay", lambda j: put(j, "data.fix", delay=48.0))
job_key(34, "source: t0 = 125", "line", "t0", lambda j: put(j, "source", t0=125.0))
job_key(34, "propagation: dt = 1", "line", r"\bdt\b", lambda j: put(j, "propagation", dt=1.0))
job_key(
    34, "kirchhoff: last = 1400", "time", "time|last", lambda j: put(j, "kirchhoff", time={"last": 1400.0})
)
job_key(
    34,
    "kirchhoff: first = 100, last = 1400, step = 4",
    "time",
    "time|last",
    lambda j: put(j, "kirchhoff", time={"first": 100.0, "last": 1400.0, "step": 4.0}),
)
job_key(34, "kirchhoff: step = 4", "time", "step", lambda j: put(j, "kirchhoff", time={"step": 4.0}))
job_key(
    34,
    "times of the velocity in ms",
    "time",
    "velocity|times t",
    lambda j: put(
        j, "velocity", v={k: [1000 * a for a in w] if k == "t" else w for k, w in j["velocity"]["v"].items()}
    ),
)
job_key(
    34,
    "smoothing of the velocity over 200 s",
    "time",
    "smooth",
    lambda j: put(j, "velocity", smooth={"time": 200.0}),
    image=False,  # how much smoothing was meant nobody knows
)
job_key(
    34,
    "acquisition: record_length = 1400",
    "modelling",
    "record_length",
    lambda j: put(j, "acquisition", record_length=1400.0),
)
job_key(34, "acquisition: dt = 4", "modelling", r"\bdt\b", lambda j: put(j, "acquisition", dt=4.0))

# 36

job_key(
    36,
    "dt = 3 ms",
    "line",
    r"\[propagation\]|\bdt\b",
    lambda j: put(j, "propagation", dt=0.003),
    says="bound|stab",
    allows=("W502",),
)
job_key(
    36,
    "dt = 6 ms",
    "patch",
    r"\[propagation\]|\bdt\b",
    lambda j: put(j, "propagation", dt=0.006),
    says="bound|stab",
)
job_key(
    36,
    "dt = 3 ms",
    "tti",
    r"\[propagation\]|\bdt\b",
    lambda j: put(j, "propagation", dt=0.003),
    says="bound|stab",
)
job_key(
    36,
    "dt = 3 ms",
    "vti",
    r"\[propagation\]|\bdt\b",
    lambda j: put(j, "propagation", dt=0.003),
    says="bound|stab",
)

__all__ = ["ANYWHERE"]
