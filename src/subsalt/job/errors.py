"""Errors that pydantic finds in a job file, in the terms of the file: key, line, value, cure; all at once."""

from __future__ import annotations

import difflib
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from subsalt.errors import ConfigError, Finding, FindingsError
from subsalt.job.units import shown

#: keys, tables and steps by the words that other programs and users have for them, several to a line: the first that
#: the table knows is suggested. A key that is spelt nearly so goes behind
_WORDS = {
    # source
    "f0": "freq frequency peak_frequency fpeak f_peak peak dominant_frequency central_frequency fdom fc",
    "fmax": "f_max max_frequency maximum_frequency freq_max fhigh",
    "wavelet": "type signature",
    # model and velocity
    "vp": "velocity vel v c vp0 p_velocity velocity_model",
    "v": "velocity vel vrms rms_velocity",
    "epsilon": "eps",
    "theta": "dip tilt",
    "phi": "azimuth",
    # grid
    "spacing": "dx dy dz dh h d step cell cell_size interval",
    "shape": "nx ny nz n size",
    "origin": "ox oy oz x0 y0 z0",
    # data and acquisition
    "files": "input inputs segy sgy traces filename path",
    "shots": "sources src",
    "receivers": "stations geophones hydrophones groups rec",
    "record_length": "nt ns tmax duration length time nsamples",
    "dt": "sampling sample_interval sampling_interval time_step timestep sample_rate",
    # propagation
    "order": "space_order fd_order",
    "layer": "nbl npml pml_width width nabc absorbing",
    "boundary": "pml cpml abc sponge",
    "free_surface": "fs freesurface surface",
    # imaging
    "condition": "imaging_condition ic",
    "top_mute": "mute",
    "normalise": "normalize normalization normalisation",
    # output and ranks
    "formats": "format filetype",
    "pictures": "png plots figures images",
    "threads": "nthreads cores ncores cpus omp_num_threads",
    "device": "gpu",
    # time migration
    "crossline": "cdp cdps",
    "first": "min minimum start",
    "last": "max maximum stop end",
    "step": "inc increment",
    "bands": "alias_bands number_of_alias_bands",
    "stretch_mute": "stretch maximum_stretch",
    "trace_block": "cache_blocks",
    # steps on the traces, and their keys
    "bandpass": "filter butterworth band_pass lowpass highpass",
    "gain": "agc tpow scale",
    "edit": "kill reverse polarity despike",
    "shift": "static statics delay",
    "designature": "decon deconvolution",
    "corners": "frequencies freqs band",
    "low": "fmin flow lowcut low_cut",
    "high": "highcut high_cut",
    # tables
    "model": "earth",
    "acquisition": "survey geometry",
    "source": "wavelet ricker",
    "propagation": "fd modelling modeling solver",
    "imaging": "migration rtm image",
    "parallel": "mpi",
}
SYNONYMS: dict[str, list[str]] = {}
for _key, _words in _WORDS.items():
    for _word in _words.split():
        SYNONYMS.setdefault(_word, []).append(_key)


def synonym(word: str, names: Sequence[str]) -> str:
    """Return the name that a word of other programs stands for, an empty text when none is known."""
    known = SYNONYMS.get(word.lower().replace("-", "_"), [])
    return next((name for name in known if name in names), "")


#: tables that a job cannot do without: what to add, and the lines to paste
_LINES = {
    "source": ("these lines, with the peak frequency of your data in Hz", "[source]\nf0 = 15"),
    "data": ("these lines, with your files of traces", '[data]\nfiles = ["shots/*.sgy"]'),
    "model": ("these lines, with your P velocity (a file, or a number in m/s)", '[model]\nvp = "vp.sgy"'),
    "velocity": (
        "these lines, with your rms velocity (a file, or a number in m/s)",
        '[velocity]\nfile = "vrms.txt"',
    ),
}


def findings_from(error: ValidationError, job: type[BaseModel], text: str = "") -> list[Finding]:
    """Return one finding per problem of a job.

    Parameters
    ----------
    error : ValidationError
        The error of the validation.
    job : type
        The root model, for the suggestions.
    text : str
        The file's text, to name line numbers.
    """
    out = []
    for item in error.errors(include_url=False):
        loc = [p for p in item["loc"] if isinstance(p, int) or not str(p).startswith("function-")]
        loc = _tagged(loc, job)
        loc = _without_union_tags(loc, job)
        path = dotted(loc)
        line = line_of(text, loc)
        where = f"{path} (line {line})" if line else path
        out.append(_finding(dict(item), loc, where, job, line))
    return out


class Tagged(int):
    """The place of a table in a list whose tables are of several kinds, with the key value that tells its kind."""

    tag: str

    def __new__(cls, place: int, tag: str) -> Tagged:
        """Return the place with its tag."""
        made = super().__new__(cls, place)
        made.tag = tag
        return made


def _tagged(loc: list[str | int], job: type[BaseModel]) -> list[str | int]:
    """Return a path in which the kinds of tables of ``signal`` go with their places; pydantic has them behind these."""
    if len(loc) < 3 or loc[0] not in job.model_fields or not isinstance(loc[1], int):
        return loc
    if loc[2] in _kinds_in(job.model_fields[str(loc[0])].annotation):
        return [loc[0], Tagged(loc[1], str(loc[2])), *loc[3:]]
    return loc


def _kinds_in(annotation: object) -> dict[str, type[BaseModel]]:
    """Return the tables of a tagged union, by the value of the key that distinguishes them."""
    kinds: dict[str, type[BaseModel]] = {}
    for inner in typing.get_args(annotation):
        if isinstance(inner, type) and issubclass(inner, BaseModel) and "step" in inner.model_fields:
            kinds |= dict.fromkeys(typing.get_args(inner.model_fields["step"].annotation), inner)
        else:
            kinds |= _kinds_in(inner)
    return kinds


def _finding(item: dict, loc: Sequence[str | int], where: str, job: type[BaseModel], line: int) -> Finding:
    kind, value = item["type"], item.get("input")
    evidence: dict[str, object] = {"key": dotted(loc), "line": line or None}
    if kind == "extra_forbidden" and (elsewhere := other_methods(loc, job)):
        tables = f"[{loc[0]}]" if len(loc) == 1 else f"[{loc[0]}] {loc[-1]}"
        said = f"{where}: {tables} belongs to method {elsewhere[0]}"
        if len(loc) == 1:
            cure = f'remove it, or put method = "{elsewhere[0]}" at the top of the file'
        else:
            cure = "remove it"
        return Finding("E769", "error", said, cure, evidence)
    if kind == "extra_forbidden":
        return Finding("E101", "error", f"{where}: unknown key", suggestion(loc, job), evidence)
    if kind == "missing" and len(loc) == 1 and str(loc[0]) in _LINES:
        why, lines = _LINES[str(loc[0])]
        return Finding("E102", "error", f"[{loc[0]}] is missing", f"add {why}:\n{lines}", evidence)
    if kind == "missing":
        field = _field_description(loc, job)
        return Finding(
            "E102", "error", f"{where}: missing", f"add {loc[-1]}" + (f": {field}" if field else ""), evidence
        )
    cause = (item.get("ctx") or {}).get("error")
    if isinstance(cause, ConfigError):
        code = cause.code if cause.code != "E100" else "E104"
        fix = cause.fix or f"meaning: {_field_description(loc, job)}"
        said = f"{where}: {cause.message}" if where else cause.message
        return Finding(code, "error", said, fix, evidence)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _unknown_step(item, where, evidence)
    said_value = shown(value)
    message = item["msg"][0].lower() + item["msg"][1:]
    fix = ""
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", item["ctx"]["expected"])
        close = difflib.get_close_matches(str(value), choices, n=1)
        message = f"{said_value} is not one of {', '.join(choices)}"
        fix = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(choices)}"
    elif kind == "bool_type":
        message, fix = f"{said_value} is neither true nor false", "write true or false, without quotes"
    else:
        message = f"{said_value}: {message}"
        fix = _field_description(loc, job)
        fix = f"meaning: {fix}" if fix else ""
    return Finding("E104", "error", f"{where}: {message}", fix, evidence)


def _unknown_step(item: dict, where: str, evidence: dict[str, object]) -> Finding:
    """Return the finding on a table whose kind is missing, or none that exists."""
    context = item["ctx"]
    known = re.findall(r"'([^']*)'", context.get("expected_tags", ""))
    key = context["discriminator"].strip("'")
    if item["type"] == "union_tag_not_found":
        return Finding("E102", "error", f"{where}: {key} is missing", f'say which: {key} = "..."', evidence)
    close = synonym(str(context["tag"]), known) or closest(str(context["tag"]), known)
    fix = f"did you mean {close!r}?" if close else f"use one of {', '.join(known)}"
    said = f"{where}: {key} = {context['tag']!r} is not one of {', '.join(known)}"
    return Finding("E104", "error", said, fix, evidence)


def raise_from(
    error: ValidationError, job: type[BaseModel], text: str = "", raw: Mapping[str, Any] | None = None
) -> None:
    """Raise `FindingsError` (exit code 78) with all findings of the validation.

    Parameters
    ----------
    raw : mapping, optional
        The content of the file: where its method is left out, and its tables are those of another one, that is what
        is said, and not what the default method misses.
    """
    findings = _unique(findings_from(error, job, text))
    if raw is not None and "method" not in raw and any(f.code == "E769" for f in findings):
        findings = [f for f in findings if f.code != "E102"]
    raise FindingsError(findings, exit_code=ConfigError.exit_code) from None


def _unique(findings: list[Finding]) -> list[Finding]:
    """Drop repetitions: a value that fails as each member of a union is one problem."""
    seen: dict[object, Finding] = {}
    for f in findings:
        seen.setdefault((f.code, f.evidence.get("key")), f)
    return list(seen.values())


def dotted(loc: Sequence[str | int]) -> str:
    """Return ``section.key[3]`` for a path."""
    out = ""
    if len(loc) > 1 and loc[0] == "signal" and isinstance(loc[1], int):
        # steps are counted, as in the messages of those that run
        out, loc = f"[[signal]] {loc[1] + 1}", loc[2:]
        return f"{out} {dotted(loc)}" if loc else out
    for part in loc:
        out += f"[{part}]" if isinstance(part, int) else (f".{part}" if out else str(part))
    return out


def other_methods(loc: Sequence[str | int], job: type[BaseModel]) -> list[str]:
    """Return the other methods that know the table or key at `loc`, exactly as it is written."""
    from subsalt.methods import METHODS, method_of

    kinds = {method: method_of(method).job_class() for method in METHODS}
    if job not in kinds.values() or any(isinstance(part, int) for part in loc):
        return []
    methods = []
    for method, kind in kinds.items():
        parent = model_at(kind, loc[:-1])
        if kind is not job and parent is not None and loc[-1] in parent.model_fields:
            methods.append(method)
    return methods


def suggestion(loc: Sequence[str | int], job: type[BaseModel]) -> str:
    """Return the cure for an unknown key: a close name, its right table, or the names that exist."""
    name = str(loc[-1])
    parent = model_at(job, loc[:-1])
    names = list(parent.model_fields) if parent else []
    close = synonym(name, names) or closest(name.lower().replace("-", "_"), names)
    if close:
        return f"did you mean {close!r}?"
    for section in job.model_fields if len(loc) <= 2 else ():
        model = model_at(job, [section])
        inside = list(model.model_fields) if model and section != loc[0] else []
        if name in inside:
            return f"{name!r} belongs in [{section}]"
        if len(name) > 1 and (other := synonym(name, inside)):
            return f"did you mean {other!r} in [{section}]?"
    return f"known here: {', '.join(names)}"


def closest(name: str, names: Sequence[str]) -> str:
    """Return the most similar name, the first of equals; an empty text when none is similar."""
    scores = {n: difflib.SequenceMatcher(None, name, n).ratio() for n in names}
    best = max(scores, key=scores.__getitem__, default="")
    # one letter of two may be wrong
    return best if best and scores[best] >= (0.5 if len(name) <= 3 else 0.6) else ""


def model_at(job: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel] | None:
    """Return the model class of the table at `loc`, or None."""
    current: type[BaseModel] | None = job
    annotation: object = None
    for part in loc:
        if isinstance(part, Tagged):
            current = _kinds_in(annotation).get(part.tag)
            continue
        if isinstance(part, int):
            continue
        if current is None or part not in current.model_fields:
            return None
        annotation = current.model_fields[part].annotation
        current = _model_in(annotation)
    return current


def _model_in(annotation: object) -> type[BaseModel] | None:
    """Return the first model class inside an annotation such as ``list[X] | None``."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation if issubclass(annotation, BaseModel) else None
    for inner in typing.get_args(annotation):
        model = _model_in(inner)
        if model is not None:
            return model
    return None


def _without_union_tags(loc: list[str | int], job: type[BaseModel]) -> list[str | int]:
    """Drop the type names that pydantic puts into paths through unions."""
    out: list[str | int] = []
    for i, part in enumerate(loc):
        last = i == len(loc) - 1
        if isinstance(part, str) and not last:
            parent = model_at(job, out)
            if parent is not None and part not in parent.model_fields:
                continue
        if (
            isinstance(part, str)
            and last
            and out
            and re.match(r"^(int|float|str|list|literal|constrained)\b", part)
        ):
            continue
        out.append(part)
    return out


def _field_description(loc: Sequence[str | int], job: type[BaseModel]) -> str:
    names = [p for p in loc if isinstance(p, str)]
    parent = model_at(job, loc[:-1]) if names else None
    if parent is None or names[-1] not in parent.model_fields:
        return ""
    return parent.model_fields[names[-1]].description or ""


def line_of(text: str, loc: Sequence[str | int]) -> int:
    """Return the line (1-based) where the key stands, 0 when it is not found."""
    names = [p for p in loc if isinstance(p, str)]
    if not names or not text:
        return 0
    section, section_line, deepest = "", 0, 0
    # the tables [[name]] of a list are counted: the one that is meant, or all of them
    place = next((int(p) for p in loc[1:2] if isinstance(p, int)), None)
    seen = -1
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        header = re.match(r"^\[+\s*([^\]]+?)\s*\]+", line)
        if header and "=" not in line.split("]")[0]:
            section = header.group(1)
            parts = section.split(".")
            if line.startswith("[[") and parts == names[:1]:
                seen += 1
                if place is not None and seen != place:
                    section = ""
                    continue
            if names[: len(parts)] == parts:
                section_line = number
            continue
        key = re.match(r"^([A-Za-z0-9_\-.\"]+)\s*=", line)
        if key:
            full = ([*section.split(".")] if section else []) + key.group(1).replace('"', "").split(".")
            if full == names[: len(full)]:
                deepest = number
    return deepest or section_line
