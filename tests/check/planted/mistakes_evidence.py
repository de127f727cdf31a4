"""Mistakes that one witness of several contradicts: noise that hides them, places, offsets, CDP words; 52 to 58."""

from __future__ import annotations

import numpy as np

from planted.form import plants
from planted.mistakes_coordinates import XY, times
from planted.mistakes_places import reversed_cable
from planted.mistakes_times import both, micro, rolled
from planted.mistakes_traces import flipped, nmo

#: what can be done in the files alone
OUT = (
    r"check|correct|again|replace|write|positions|reverse|coordinates",
    lambda case: case.restore(),
)

# 52: swell of 20 % of the rms of a record hides no mistake

SWELL = "swell"


@plants(52, "cable reversed", bases=SWELL, where="all", says="revers|far end|other end", deed=OUT)
def reversed_in_swell(case, which):
    case.edit(reversed_cable, which)


@plants(52, "dt halved", bases=SWELL, where="all", says=r"sampl(e|ing) interval|\bdt\b")
def halved_in_swell(case, which):
    case.edit(lambda f: both(f, micro(case) // 2), which)


@plants(52, "dt doubled", bases=SWELL, where="all", says=r"sampl(e|ing) interval|\bdt\b")
def doubled_in_swell(case, which):
    case.edit(lambda f: both(f, micro(case) * 2), which)


@plants(52, "polarity of all shots", bases=SWELL, where="all", says="polarity|sign")
def polarity_in_swell(case, which):
    case.edit(flipped, which)


@plants(52, "polarity of a shot", bases=SWELL, where="one", says="polarity|sign")
def polarity_of_one_in_swell(case, which):
    case.edit(flipped, which)


@plants(52, "data 200 ms late", bases=SWELL, where="all", says="delay|time zero|ms too (late|early)")
def late_in_swell(case, which):
    case.edit(lambda f: rolled(f, -round(0.2 / case.world.time.dt)), which)


@plants(52, "200 ms in the headers", bases=SWELL, where="all one", says="delay|time zero|ms too (late|early)")
def delay_in_swell(case, which):
    case.edit(lambda f: f.put(delay=200), which)


@plants(52, "scalar of coordinates missing", bases=SWELL, where="all", says="scalar")
def scalar_in_swell(case, which):
    case.edit(lambda f: f.put(coordinate_scalar=1), which)


# 53: places

STATIONS = r"source|receiver|station|position|offset|first breaks|coordinate|spread|cable|side|shot"


def along(names, metres, alone=True):
    """Return a change that moves stations along x; offsets follow unless they were computed from other numbers."""

    def change(f):
        f.put(**{n: f.get(n) + round(10 * metres) for n in names})
        if not alone:
            f.put(offset=np.round(0.1 * (f.get("receiver_x") - f.get("source_x"))))

    return change


SOURCE, RECEIVERS = ("source_x",), ("receiver_x",)
for metres in (50, 100):
    for how, alone in (("offsets right", True), ("offsets with them", False)):
        plants(
            53,
            f"sources {metres} m off, {how}",
            bases="line spread patch" if alone is False else "line",
            where="all one",
            says=STATIONS,
            deed=OUT,
        )(lambda case, which, m=metres, a=alone: case.edit(along(SOURCE, m, a), which))
plants(53, "cable 25 m off, offsets with it", bases="line", where="all one", says=STATIONS, deed=OUT)(
    lambda case, which: case.edit(along(RECEIVERS, 25, False), which)
)
plants(53, "sources 75 m off", bases="time", where="all one", says=STATIONS, deed=OUT)(
    lambda case, which: case.edit(along(SOURCE, 75, False), which)
)
plants(
    53,
    "a shot, sources and receivers, 100 m off",
    bases="line time patch",
    where="one",
    says=STATIONS + "|echo",
    deed=OUT,
)(lambda case, which: case.edit(along(SOURCE + RECEIVERS, 100), which))


def other_side(f):
    """Put the receivers ahead of the source instead of behind it."""
    f.put(receiver_x=2 * f.get("source_x") - f.get("receiver_x"), offset=-f.get("offset"))


SIDE = r"\bside\b|ahead|behind|mirror|revers|echo"


@plants(
    53, "receivers on the other side of the source", bases="line small", where="all one", says=SIDE, deed=OUT
)
def wrong_side(case, which):
    case.edit(other_side, which)


@plants(
    53, "coordinates moved by a trace", bases="line spread patch", where="all one", says=STATIONS, deed=OUT
)
def by_a_trace(case, which):
    def change(f):
        f.put(
            **{n: np.roll(f.get(n), 1) for n in ("receiver_x", "receiver_y", "receiver_elevation", "offset")}
        )

    case.edit(change, which)


@plants(
    53, "shots in the reverse order", bases="line patch time spread", where="all", says=STATIONS, deed=OUT
)
def shots_reversed(case, which):
    places = [{n: case.trace_file(i).get(n).copy() for n in XY} for i in range(len(case.files))]
    for i in which:
        case.edit(lambda f, i=i: f.put(**places[len(places) - 1 - i]), [i])


@plants(
    53,
    "the places of two shots exchanged",
    bases="line patch time spread",
    where="one",
    says=STATIONS,
    place=(r"shot_010[67]", r"\bshots?\b[^|]*\b10[67]\b"),
    deed=OUT,
)
def two_exchanged(case, which):
    i = which[0]
    places = [{n: case.trace_file(k).get(n).copy() for n in XY} for k in (i, i + 1)]
    case.edit(lambda f: f.put(**places[1]), [i])
    case.edit(lambda f: f.put(**places[0]), [i + 1])


@plants(
    53,
    "x of the other sign",
    bases="line patch time",
    where="all",
    says=r"sign|mirror|revers|outside|x ",
    deed=OUT,
)
def mirrored_map(case, which):
    case.edit(lambda f: times(f, -1, ("source_x", "receiver_x")), which)


# 54: CDP words

CDP = r"cdp|midpoint|bin|18[15]|byte 21"


@plants(54, "CDP positions 2.1 km off", bases="line patch", where="all one", says=CDP, deed=OUT)
def cdp_far(case, which):
    case.edit(lambda f: f.put(cdp_x=f.get("cdp_x") + 21_000), which)


@plants(54, "CDP positions 100 m off", bases="line patch", where="all", says=CDP, deed=OUT)
def cdp_near(case, which):
    case.edit(lambda f: f.put(cdp_x=f.get("cdp_x") + 1000), which)


@plants(54, "CDP positions without the scalar", bases="line", where="all", says=CDP, deed=OUT, unused=True)
def cdp_unscaled(case, which):
    case.edit(lambda f: f.put(cdp_x=np.round(0.1 * f.get("cdp_x"))), which)


@plants(54, "CDP numbers in the reverse order", bases="time", where="all one", says=CDP, deed=OUT)
def cdp_reversed(case, which):
    case.edit(lambda f: f.put(cdp=600 - f.get("cdp")), which)


@plants(54, "CDP numbers of the sources", bases="time", where="all", says=CDP, deed=OUT)
def cdp_of_sources(case, which):
    case.edit(lambda f: f.put(cdp=1 + np.round(0.1 * f.get("source_x") / 6.25)), which)


# 55: offsets


@plants(55, "25 m too long", bases="line patch time", where="all one", says="offset", deed=OUT)
def offset_longer(case, which):
    case.edit(lambda f: f.put(offset=f.get("offset") + np.where(f.get("offset") < 0, -25, 25)), which)


@plants(55, "to the antenna: 50 m short", bases="line time", where="all", says="offset", deed=OUT)
def offset_to_antenna(case, which):
    case.edit(lambda f: f.put(offset=f.get("offset") + 50), which)


@plants(55, "of the trace before", bases="line spread", where="all", says="offset", deed=OUT)
def offset_rolled(case, which):
    case.edit(lambda f: f.put(offset=np.roll(f.get("offset"), 1)), which)


# 56: steps of the job move times and bands

TIMES = r"shift|delay|time zero|ms too (late|early)|first breaks"


def steps(form, base, says, *made, **more):
    """Register steps of a job that do what the headers did, or too much."""

    def plant(case, which):
        case.job["signal"] = [dict(step) for step in made]

    plants(56, form, bases=base, where="job", says=says, place=r"signal|step|\[|first breaks", **more)(plant)


AWAY = (r"leave|remove|step|check", lambda case: case.job.pop("signal", None))
steps("a delay applied again", "delays", TIMES, {"step": "shift", "time": 0.048}, deed=AWAY)
steps("a shift of 200 ms", "line patch spread", TIMES, {"step": "shift", "time": 0.2}, deed=AWAY)
steps("a shift of -200 ms", "line", TIMES, {"step": "shift", "time": -0.2}, deed=AWAY)
steps(
    "a band-pass above the band",
    "line patch",
    r"band|Hz",
    {"step": "bandpass", "corners": [40, 50, 70, 80]},
    deed=AWAY,
)
steps(
    "corners in kHz",
    "line",
    r"band|Hz|corner",
    {"step": "bandpass", "corners": [0.003, 0.006, 0.03, 0.04]},
    deed=AWAY,
)

# 57: what moveout hides


@plants(
    57,
    "dt halved, moveout removed",
    bases="line spread",
    where="all",
    says="moveout|NMO|flat|interval",
    deed=OUT,
)
def halved_and_corrected(case, which):
    nmo(case, which)
    case.edit(lambda f: both(f, micro(case) // 2), which)


for factor, word in ((0.5, "halved"), (2, "doubled")):
    plants(
        57,
        f"dt {word}",
        bases="nodes ghosts foothills land",
        where="all",
        says=r"sampl(e|ing) interval|\bdt\b",
    )(lambda case, which, k=factor: case.edit(lambda f: both(f, round(micro(case) * k)), which))

# 58: time zero


@plants(
    58, "40 ms late in three shots", bases="line patch", where="some", says="late|early|delay|time zero|ms"
)
def some_late(case, which):
    case.edit(lambda f: rolled(f, -round(0.04 / case.world.time.dt)), which)


@plants(58, "polarity of half the cable", bases="line", where="all", says="polarity|sign", deed=OUT)
def half_flipped(case, which):
    def change(f):
        f.samples = np.where(np.arange(len(f))[:, None] >= 40, -1, 1) * f.samples

    case.edit(change, which)


@plants(
    58,
    "time zero of every shot off by up to 40 ms",
    bases="line patch",
    where="all",
    says="late|early|delay|time zero|ms",
)
def jitter(case, which):
    most = round(0.04 / case.world.time.dt)
    for i in which:
        by = int(np.random.default_rng(i).integers(-most, most + 1))
        if by:
            case.edit(lambda f, by=by: rolled(f, by), [i])


@plants(
    58,
    "wavelet at time zero",
    bases="line patch spread",
    where="job",
    says="late|early|delay|time zero|ms",
    place="t0|delay",
)
def wavelet_at_zero(case, which):
    case.job["source"]["t0"] = 0.0


@plants(58, "delays in tenths of ms", bases="delays", where="all", says="delay|time zero|ms too (late|early)")
def tenths(case, which):
    case.edit(lambda f: f.put(delay=480), which)


@plants(53, "receivers of the shot before", bases="line time", where="one", says=STATIONS, deed=OUT)
def stale_receivers(case, which):
    before = case.trace_file(which[0] - 1)
    columns = {n: before.get(n).copy() for n in ("receiver_x", "receiver_y")}
    case.edit(lambda f: f.put(**columns), which)
