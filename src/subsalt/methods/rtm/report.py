"""Section of the report on a reverse time migration: its parameters in the words of the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from subsalt.propagation.options import PropagationOptions
from subsalt.report import render
from subsalt.report.facts import RunFacts, listed, section

#: value of a parameter from the facts of the run
Value = Callable[[RunFacts], str]


def parameters(facts: RunFacts) -> dict[str, Any] | None:
    """Return every parameter under its name in the field, with its value, the key that sets it, and who set it."""
    given = section(facts.run, "job_given")
    rows = []
    for name, key, value in PARAMETERS:
        text = value(facts) if facts.job else ""
        if text:
            table, _, own = key.partition(".")
            is_given = own in section(given, table) if own else table in given
            rows.append((name, text, key, "given" if is_given else "default"))
    return {"rows": rows, "rest": [], "velocity": []} if rows else None


def cards(facts: RunFacts) -> list[tuple[str, str]]:
    """Return the flatness of gathers by angle or offset as a number with its meaning."""
    values = sorted(v for v in listed(section(facts.run, "flatness"), "semblance") if render.is_number(v))
    if not values:
        return []
    median = values[len(values) // 2]
    kind = section(facts.run, "gathers").get("kind", "angle")
    about = (
        f"flatness of {kind} gathers, median of {len(values)} places ({values[0]:.2f} to {values[-1]:.2f})"
    )
    return [(f"{median:.2f}", about)]


def _of(table: str, key: str, unit: str = "", **words: str) -> Value:
    """Return what reads a key of the resolved job; `words` replace values, a number gets its unit."""

    def value(facts: RunFacts) -> str:
        v = section(facts.job, table).get(key)
        if v is None:
            return words.get("none_", "")
        if isinstance(v, str | bool):
            return words.get(str(v).lower().replace("-", "_"), str(v))
        return f"{v:g}{unit}" if render.is_number(v) else render.plain(v)

    return value


def _files(facts: RunFacts) -> str:
    return ", ".join(str(f) for f in listed(section(facts.job, "data"), "files"))


def _medium(facts: RunFacts) -> str:
    """Return the medium: what the job names, or what its model has."""
    model, named = section(facts.job, "model"), section(facts.job, "propagation").get("medium")
    if not model:
        return ""
    has = {key for key in ("epsilon", "delta", "theta") if model.get(key) is not None}
    medium = (
        named if named not in (None, "auto") else "tti" if "theta" in has else "vti" if has else "isotropic"
    )
    return {"vti": "VTI", "tti": "TTI"}.get(str(medium), str(medium))


def _model(key: str) -> Value:
    """Return what names the file or the value of a parameter of the earth."""

    def value(facts: RunFacts) -> str:
        v: Any = section(facts.job, "model").get(key)
        if isinstance(v, dict):
            v = v.get("file") or v.get("value")
        return "" if v is None else v if isinstance(v, str) else render.plain(v)

    return value


def _smoothing(facts: RunFacts) -> str:
    sigma = section(facts.job, "model").get("smoothing")
    return f"sigma {sigma:g} m" if render.is_number(sigma) and sigma else "none"


def _wavelet(facts: RunFacts) -> str:
    source = section(facts.job, "source")
    kind = source.get("wavelet")
    if kind == "ricker":
        return (
            f"Ricker, peak frequency {source['f0']:g} Hz" if render.is_number(source.get("f0")) else "Ricker"
        )
    corners = [source.get(k) for k in ("f1", "f2", "f3", "f4")]
    if kind == "ormsby" and all(map(render.is_number, corners)):
        return f"Ormsby, {' - '.join(f'{f:g}' for f in corners)} Hz"
    return str(source.get("file") or kind or "")


def _time_zero(facts: RunFacts) -> str:
    t0: Any = section(facts.job, "source").get("t0")
    return f"{1e3 * t0:.4g} ms after the start of the record" if render.is_number(t0) else ""


def _scheme(facts: RunFacts) -> str:
    job = section(facts.job, "propagation")
    weights = f", {job['stencil']} weights" if job.get("stencil") else ""
    return f"order {job['order']}{weights}" if render.is_number(job.get("order")) else ""


def _boundary(facts: RunFacts) -> str:
    """Return the absorbing layer with its width."""
    job = section(facts.job, "propagation")
    kind, cells = job.get("boundary"), job.get("layer")
    if kind not in ("pml", "damping"):
        return str(kind or "")
    width = cells if render.is_number(cells) else PropagationOptions(boundary=kind).layer_cells
    return f"{'PML' if kind == 'pml' else kind} of {width:g} cells"


def _top(facts: RunFacts) -> str:
    job = section(facts.job, "propagation")
    if job.get("topography"):
        return "free surface on the topography"
    return "free surface" if job.get("free_surface") else "absorbing"


def _condition(facts: RunFacts) -> str:
    """Return the imaging condition, and by what it is divided."""
    job = section(facts.job, "imaging")
    kind = str(job.get("condition") or "")
    if kind not in ("source-normalised", "up-down"):
        return kind
    by = {"survey": "illumination of all shots", "shot": "illumination of each shot"}.get(
        str(job.get("illumination"))
    )
    return f"{kind}, by the {by}" if by else kind


def _mute(facts: RunFacts) -> str:
    depth = section(facts.job, "imaging").get("top_mute")
    return f"{depth:g} m" if render.is_number(depth) and depth else "none" if facts.job.get("imaging") else ""


#: name in the field, key of the job file, value
PARAMETERS: tuple[tuple[str, str, Value], ...] = (
    ("Method", "method", lambda facts: "reverse time migration"),
    ("Shots from", "data.files", _files),
    ("P velocity", "model.vp", _model("vp")),
    ("Epsilon", "model.epsilon", _model("epsilon")),
    ("Delta", "model.delta", _model("delta")),
    ("Tilt", "model.theta", _model("theta")),
    ("Smoothing of the model", "model.smoothing", _smoothing),
    ("Medium", "propagation.medium", _medium),
    ("Wavelet", "source.wavelet", _wavelet),
    ("Peak of the wavelet", "source.t0", _time_zero),
    ("Finite differences", "propagation.order", _scheme),
    ("Sides of the grid", "propagation.boundary", _boundary),
    ("Top of the grid", "propagation.free_surface", _top),
    ("Imaging condition", "imaging.condition", _condition),
    ("Stabilisation of the division", "imaging.normalise", _of("imaging", "normalise")),
    ("Migration aperture", "imaging.aperture", _of("imaging", "aperture", " m", all="the whole model")),
    ("Filter of the image", "imaging.filter", _of("imaging", "filter", laplacian="Laplacian")),
    ("Mute of the image above", "imaging.top_mute", _mute),
)
