"""Section of the report on a time migration: its numbers, and its parameters in the words of the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from subsalt.report import render
from subsalt.report.facts import MethodRows, RunFacts, listed, section

#: value of a parameter from the facts of the run
Value = Callable[[RunFacts], str]


#: titles of sections
TITLES = {"pictures": "Image, gathers and fold", "shots": "Blocks of the image"}


def report_rows(facts: RunFacts) -> MethodRows:
    """Return what the report of a time migration says beside what all say."""
    return MethodRows(
        cards=cards(facts), parameters=parameters(facts), titles=TITLES, sums="sums", holder="a rank"
    )


def cards(facts: RunFacts) -> list[tuple[str, str]]:
    """Return the numbers of the run with their meanings: image, traces, contributions."""
    run, grid, classes = facts.run, section(facts.run, "image_grid"), section(facts.run, "classes")
    out: list[tuple[str, str]] = []
    shape = [_count(listed(grid, k)) for k in ("inlines", "crosslines")]
    if all(shape):
        out.append((" x ".join(render.count(n) for n in shape), "locations: inlines x crosslines"))
    time, samples = listed(grid, "time_s"), grid.get("samples")
    if render.is_number(samples) and len(time) == 3:
        out.append((f"{samples} of {1e3 * time[2]:g} ms", "samples of an image trace"))
    if classes.get("kind") not in (None, "image"):
        out.append((render.count(len(listed(classes, "offsets"))), "image traces at each location"))
    traces = section(run, "traces")
    if render.is_number(traces.get("usable")):
        used = traces.get("in_classes")
        of = f" of {render.count(traces['usable'])}" if render.is_number(used) else ""
        out.append((render.count(used if render.is_number(used) else traces["usable"]) + of, "traces summed"))
    done = run.get("contributions")
    if render.is_number(done):
        out.append((render.count(done), "contributions (samples added after aperture and mute)"))
    rate = run.get("contributions_per_second")
    if render.is_number(rate):
        out.append((f"{render.rate(rate)} contributions/s", "while traces are summed"))
    again = run.get("traces_summed")
    if render.is_number(again) and render.is_number(traces.get("in_classes")) and traces["in_classes"]:
        times = again / traces["in_classes"]
        out.append((f"{times:.2f}", "times a trace was read and prepared, for all blocks"))
    return out


def _count(lines: list[Any]) -> int:
    """Return how many numbers a first, last and step stand for."""
    if len(lines) != 3 or not all(render.is_number(v) for v in lines) or not lines[2]:
        return 0
    return int((lines[1] - lines[0]) // lines[2]) + 1


def parameters(facts: RunFacts) -> dict[str, Any] | None:
    """Every parameter under its name in the field, with its value, the key that sets it, and whether the job did."""
    given = section(facts.run, "job_given")
    rows = []
    for name, key, value in PARAMETERS:
        text = value(facts)
        if not text:
            continue
        table_of, _, own = key.partition(" ")[0].rpartition(".")
        is_given = own in (given if own == "method" else section(given, table_of or "kirchhoff"))
        mark = "given" if is_given else "default"
        rows.append((name, text, key, mark))
    described = section(facts.run, "velocity")
    velocity = [(k.replace("_", " "), render.plain(v)) for k, v in described.items()]
    # what the job says comes first; without a record of it all rows are shown
    said = [row for row in rows if row[-1] == "given"] or rows
    return (
        {"rows": said, "rest": [row for row in rows if row not in said], "velocity": velocity}
        if rows
        else None
    )


def _lines(which: str) -> Value:
    def value(facts: RunFacts) -> str:
        lines = listed(section(facts.run, "image_grid"), which)
        return f"{lines[0]} to {lines[1]} by {lines[2]}" if len(lines) == 3 else ""

    return value


def _files(facts: RunFacts) -> str:
    return ", ".join(str(f) for f in listed(section(facts.job, "data"), "files"))


def _velocity(facts: RunFacts) -> str:
    """Return the file or the value of the velocity, and its kind."""
    job = section(facts.job, "velocity")
    v: Any = job.get("v")
    if isinstance(v, dict):
        v = v.get("file") or v.get("value") or v
    of = f" ({job['kind']})" if isinstance(job.get("kind"), str) else ""
    return "" if v is None else (v if isinstance(v, str) else render.plain(v)) + of


def _corners(facts: RunFacts) -> str:
    """Return the four corners of the grid: inline, crossline and map position."""
    g = section(facts.run, "image_grid")
    i, j, at = listed(g, "inlines"), listed(g, "crosslines"), listed(g, "corner_m")
    per_i, per_j = listed(g, "per_inline_m"), listed(g, "per_crossline_m")
    if [len(v) for v in (i, j, at, per_i, per_j)] != [3, 3, 2, 2, 2]:
        return ""
    out = []
    for a, b in dict.fromkeys([(i[0], j[0]), (i[0], j[1]), (i[1], j[1]), (i[1], j[0])]):
        x, y = (at[k] + (a - i[0]) * per_i[k] + (b - j[0]) * per_j[k] for k in (0, 1))
        out.append(f"({a}, {b}) at {x:.2f}, {y:.2f} m")
    return "; ".join(out)


def _bins(facts: RunFacts) -> str:
    g = section(facts.run, "image_grid")
    sizes = [h for h in listed(g, "spacing_m") if render.is_number(h)]
    return f"{sizes[0]:g} x {sizes[1]:g} m (between inlines x between crosslines)" if len(sizes) == 2 else ""


def _times(facts: RunFacts) -> str:
    t = [v for v in listed(section(facts.run, "image_grid"), "time_s") if render.is_number(v)]
    return f"{t[0]:g} to {t[1]:g} s by {1e3 * t[2]:g} ms" if len(t) == 3 else ""


def _option(name: str, unit: str = "", none: str = "all", factor: float = 1.0) -> Value:
    """Return what reads one of the options that were used; None is `none`."""

    def value(facts: RunFacts) -> str:
        options = section(facts.run, "options")
        if name not in options:
            return ""
        v = options[name]
        if v is None:
            return none
        if isinstance(v, list):
            return " x ".join(f"{x:g}" for x in v) + unit
        if isinstance(v, str):
            return v + (unit if unit == " rays" else "")
        return f"{factor * v:g}{unit}" if render.is_number(v) else str(v)

    return value


def _bands(facts: RunFacts) -> str:
    return _option("bands")(facts) if section(facts.run, "options").get("antialias") == "bands" else ""


def _choice(facts: RunFacts) -> str:
    return _option("band_choice")(facts) if _bands(facts) else ""


def _amplitude(facts: RunFacts) -> str:
    said = {
        "3d": "3-D: weight W3, time derivative",
        "2.5d": "2.5-D: weight W2, half derivative",
        "none": "none",
    }
    return said.get(str(section(facts.run, "options").get("amplitude")), "")


def _gathers(facts: RunFacts) -> str:
    kinds = {"image": "one image", "offset": "offset classes", "full": "full-offset image traces"}
    return kinds.get(str(section(facts.run, "classes").get("kind")), "")


def _offsets(facts: RunFacts) -> str:
    classes = section(facts.run, "classes")
    edges = [e for e in listed(classes, "edges") if render.is_number(e)]
    if len(edges) < 2:
        return ""
    return f"{len(edges) - 1} from {max(edges[0], 0):g} to {edges[-1]:g} m"


def _sectors(facts: RunFacts) -> str:
    n = section(facts.run, "classes").get("sectors")
    return "" if not render.is_number(n) else "none" if n == 1 else f"{n} over 180 degrees"


def _job(key: str, unit: str = "") -> Value:
    """Return what reads a key of ``[kirchhoff]`` as the resolved job has it."""

    def value(facts: RunFacts) -> str:
        v = section(facts.job, "kirchhoff").get(key)
        return "" if v is None else f"{v:g}{unit}" if render.is_number(v) else str(v)

    return value


def _trace_block(facts: RunFacts) -> str:
    n = section(facts.run, "parallel").get("trace_block")
    wanted = _job("trace_block")(facts)
    return f"{render.count(n)} traces ({wanted})" if render.is_number(n) and wanted == "auto" else wanted


def _scale(facts: RunFacts) -> str:
    scale = section(facts.job, "velocity").get("scale")
    return f"{scale:g}" if render.is_number(scale) else ""


def _eta(facts: RunFacts) -> str:
    return "none" if section(facts.job, "velocity").get("eta") is None else "as given"


def _datum(facts: RunFacts) -> str:
    """Return from where times count, if not from the datum of the data."""
    datum = section(facts.run, "floating_datum")
    heights, flat, v = listed(datum, "elevations"), datum.get("flat"), datum.get("velocity")
    if len(heights) != 2:
        return ""
    at = "" if flat is None else f"{flat:g} m; "
    return f"{at}floating datum at {heights[0]:.0f} to {heights[1]:.0f} m, replacement velocity {v:g} m/s"


#: name in the field, key of the job file, value
PARAMETERS: tuple[tuple[str, str, Value], ...] = (
    ("Method", "method", lambda facts: "Kirchhoff prestack time migration" if facts.job else ""),
    ("Traces from", "data.files", _files),
    ("Velocity", "velocity.v", _velocity),
    ("Output inlines: minimum, maximum, increment", "inline", _lines("inlines")),
    ("Output crosslines: minimum, maximum, increment", "crossline", _lines("crosslines")),
    ("Corner points of the grid", "corners", _corners),
    ("Bin size", "corners or spacing", _bins),
    ("Output times", "time", _times),
    ("Datum", "floating_datum", _datum),
    ("Image gather type", "gathers", _gathers),
    ("Offset classes", "offset", _offsets),
    ("Azimuth sectors", "sectors", _sectors),
    ("Amplitude and phase correction", "amplitude", _amplitude),
    ("Area of a trace", "weighting", _job("weighting")),
    ("Migration aperture by distance", "aperture", _option("aperture", " m")),
    ("Its taper", "aperture_taper", _option("aperture_taper", " %", factor=100)),
    ("Migration aperture by dip", "dip", _option("dip", " degrees")),
    ("Its taper", "dip_taper", _option("dip_taper", " %", factor=100)),
    ("Antialias filter", "antialias", _option("antialias")),
    (
        "Antialias inline, crossline spacing",
        "antialias_spacing",
        _option("antialias_spacing", " m", "the bins"),
    ),
    ("Number of alias bands", "bands", _bands),
    ("Choice of band", "band_choice", _choice),
    ("Stretch mute: maximum stretch", "stretch_mute", _option("stretch_mute", " %", "off", 100)),
    ("Its taper", "stretch_taper", _option("stretch_taper", " %", factor=100)),
    ("Scale of the velocity", "velocity.scale", _scale),
    ("Traveltime", "traveltime", _option("traveltime", " rays")),
    ("Anisotropy (eta)", "velocity.eta", _eta),
    ("Block moveout", "block_moveout", _job("block_moveout")),
    ("Interpolation of traces", "interpolation", _option("interpolation")),
    ("Cache blocks (traces at a time)", "trace_block", _trace_block),
    ("Memory of a rank", "memory", _job("memory", " bytes")),
    ("Restart point every", "save_every", _job("save_every", " s")),
)
