"""The files a job names: patterns expanded, each there, in one order.

The JSON Schema of job files, one for all methods: editors check and complete a job with it.
"""

from __future__ import annotations

import glob
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import GeometryError, MissingInputError
from subsalt.io.input_file import InputFile
from subsalt.io.objects import StoredObject, as_path, is_url, matching, refuse_url, tree_fingerprint
from subsalt.io.publish import sha256_file
from subsalt.io.segy.index import SUFFIX
from subsalt.job.units import shown
from subsalt.methods import DEFAULT, METHODS, method_of

if TYPE_CHECKING:
    from subsalt.job.base import BaseJob
    from subsalt.methods.rtm.sections import RtmTables

#: folders that are one input each
STORES = (".zarr", ".mdio")

#: model parameters that a job may give, and what they measure
PARAMETERS = {"vp": "velocity", "epsilon": "fraction", "delta": "fraction", "theta": "angle", "phi": "angle"}


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Return a sort key in which shot9 comes before shot10."""
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.split(r"(\d+)", text) if p]


def expand_files(job: BaseJob, patterns: list[str], key: str = "data.files") -> list[Path]:
    """Return the files that names and patterns of `key` stand for, each once, in natural order within a pattern."""
    out: list[Path] = []
    for pattern in patterns:
        path = job.resolve(pattern)
        if glob.has_magic(pattern):
            found = sorted(matching(str(path)), key=natural_key)
            if (
                not found
                and not is_url(path)
                and path.parent.is_dir()
                and not os.access(path.parent, os.R_OK | os.X_OK)
            ):
                raise MissingInputError(
                    f"{key}: {path.parent} cannot be read", "check its permissions", code="E111"
                )
            if not found:
                raise MissingInputError(f"no file matches {path}", f"check the pattern in {key}", code="E112")
            paths = [as_path(f) for f in found if not f.endswith(SUFFIX)]
            out += [p for p in paths if is_url(p) or not p.is_dir() or p.suffix in STORES]
        else:
            out.append(existing(path, key, stored=True))
    return list(dict.fromkeys(out))


def data_files(job: BaseJob) -> list[Path]:
    """Return the files of `[data]` without those that `exclude` names as a whole: they are not even opened.

    Raises
    ------
    GeometryError
        When an entry names no file of them, or none is left.
    """
    from subsalt.io.segy.exclude import refuse_unmatched

    found = expand_files(job, job.data.files)
    whole = [e for e in job.data.excluded() if e.whole_file]
    refuse_unmatched(whole, [any(e.names(str(p)) for p in found) for e in whole])
    left = [p for p in found if not any(e.names(str(p)) for e in whole)]
    if not left:
        raise GeometryError(
            f"[data] exclude leaves none of {len(found)} files", "leave out fewer", code="E244"
        )
    return left


def existing(path: Path, key: str, *, stored: bool = False) -> Path:
    """Return the path of a file that the job names under `key`, or raise when it is not there.

    `stored` says that it may be an object in a store, which is looked for where it is opened.
    """
    if is_url(path):
        if not stored:
            refuse_url(path, key)
        return path
    if not _exists(path):
        name = str(path)
        raise MissingInputError(
            f"{key}: {name if len(name) < 500 else shown(name)} does not exist",
            "names count from the folder of the job file",
            code="E110",
        )
    if path.is_dir() and path.suffix not in STORES:
        raise MissingInputError(
            f"{key}: {path} is a directory", 'name files, or use a pattern such as "shots/*.sgy"', code="E110"
        )
    if not os.access(path, os.R_OK):
        raise MissingInputError(f"{key}: {path} cannot be read", "check its permissions", code="E111")
    if not (path.is_file() or path.is_dir()):
        # the one would wait, the other never end
        raise MissingInputError(
            f"{key}: {path} is a pipe or device, not a file", "copy the data to a file first", code="E111"
        )
    return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have: too long, or a loop of links
        return False


def input_files(job: RtmTables) -> dict[str, list[Path]]:
    """Return the files the job reads, by the dotted key that names them."""
    out: dict[str, list[Path]] = {}
    if job.data is not None:
        found = data_files(job)
        # the samples of time slices lie beside their headers
        slices = job.data.slices is not None
        out["data.files"] = [f for p in found for f in (with_payload(p) if slices else [p])]
        out |= geometry_files(job)
    out |= signal_files(job)
    for name in PARAMETERS:
        section = getattr(job.model, name)
        if section is not None and section.file is not None:
            key = f"model.{name}.file"
            path = existing(job.resolve(section.file), key, stored=True)
            if section.data is None:
                out[key] = with_payload(path)
            else:
                out[key] = [path]
                out[f"model.{name}.data"] = [existing(job.resolve(section.data), f"model.{name}.data")]
    if job.source.file is not None:
        out["source.file"] = [existing(job.resolve(job.source.file), "source.file")]
    section = job.propagation.topography
    if section is not None and section.elevations is not None:
        key = "propagation.topography.elevations"
        out[key] = [existing(job.resolve(section.elevations), key)]
    if job.acquisition is not None:
        for group in ("shots", "receivers"):
            for i, item in enumerate(getattr(job.acquisition, group)):
                if item.file is not None:
                    key = f"acquisition.{group}.{i}.file"
                    out[key] = [existing(job.resolve(item.file), key)]
    return out


def signal_files(job: BaseJob) -> dict[str, list[Path]]:
    """Return the files that the steps of `[[signal]]` read, by the dotted key that names them."""
    return {
        f"signal.{place}.{key}": [existing(job.resolve(name), f"[[signal]] {place + 1} {key}")]
        for place, step in enumerate(job.signal or [])
        for key, name in step.files().items()
    }


def geometry_files(job: BaseJob) -> dict[str, list[Path]]:
    """Return the files of `[data.geometry]`, by the dotted key that names them."""
    section, out = job.data.geometry, {}
    if section is not None:
        for name in ("files", "shots", "receivers"):
            named = getattr(section, name)
            if named is not None:
                key = f"data.geometry.{name}"
                out[key] = expand_files(job, [named] if isinstance(named, str) else named, key)
    return out


def with_payload(path: Path) -> list[Path]:
    """Return a model file and what belongs to it: the binary of an RSF header, the side file of an array."""
    if path.suffix == ".rsf":
        names = re.findall(r'\bin\s*=\s*"?([^"\s]+)', _head(path))
        payload = path.parent / names[-1] if names and names[-1] != "stdin" else None
        if payload is not None and payload.is_file():
            return [path, payload]
    if path.suffix == ".npy" and path.with_name(f"{path.name}.json").is_file():
        return [path, path.with_name(f"{path.name}.json")]
    return [path]


def _head(path: Path) -> str:
    """Return the beginning of a text."""
    with InputFile(path) as file:
        return file.read_at(0, min(file.size, 1 << 16)).decode("latin-1")


def input_facts(key: str, path: Path) -> dict[str, object]:
    """Return key, name, size and SHA-256 of what a job reads.

    Of an object in a store the hash is that of its size and version as the store tells them, and of all its bytes
    where it tells no version.
    """
    if path.suffix in STORES and (is_url(path) or path.is_dir()):
        size, digest = tree_fingerprint(path)
        return {"key": key, "path": str(path), "bytes": size, "sha256": digest}
    if is_url(path):
        stored = StoredObject(path)
        return {"key": key, "path": str(path), "bytes": stored.size, "sha256": stored.fingerprint()}
    return {"key": key, "path": str(path), "bytes": path.stat().st_size, "sha256": sha256_file(path)}


def schema_text() -> str:
    """Return the JSON Schema of job files, the content of ``job.schema.json``."""
    merged: dict[str, Any] = {"$defs": {}, "properties": {}}
    rules = []
    for method in METHODS:
        schema = method_of(method).job_class().model_json_schema(by_alias=True)
        merged["$defs"] |= schema.pop("$defs")
        properties = schema["properties"]
        properties["method"] = {"const": method, "description": "how the image is made"}
        if method == DEFAULT:
            merged["properties"] = {k: v for k, v in properties.items() if k != "method"}
        else:
            # a table of both methods may hold what either knows; the rule of its method is the strict one
            for name, value in properties.items():
                known = merged["properties"].setdefault(name, value)
                if known != value and name != "method":
                    merged["properties"][name] = {"anyOf": [known, value]}
        required = (
            ["method", *schema.get("required", [])] if method != DEFAULT else schema.get("required", [])
        )
        rule = {"properties": properties, "required": sorted(set(required)), "additionalProperties": False}
        rules.append((method, rule))
    merged["properties"]["method"] = {
        "enum": list(METHODS),
        "default": DEFAULT,
        "description": "how the image is made: reverse time migration, or Kirchhoff time migration",
    }
    merged["properties"]["$schema"] = {"type": "string"}
    for method, rule in rules:
        rule["properties"]["$schema"] = {"type": "string"}
        asked: dict[str, Any] = {"properties": {"method": {"const": method}}}
        if method != DEFAULT:
            asked["required"] = ["method"]
        merged.setdefault("allOf", []).append({"if": asked, "then": rule})
    merged |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "subsalt job file",
        "type": "object",
    }
    _accept_short_forms(merged)
    return json.dumps(merged, indent=1, sort_keys=True) + "\n"


def _accept_short_forms(schema: dict[str, Any]) -> None:
    """Add to the schema what validators accept beyond the tables: a number or text for a value, one for a
    list.
    """
    short = [{"type": "number"}, {"type": "string"}]
    definitions = schema["$defs"]
    model = definitions["ModelSection"]["properties"]
    for key in PARAMETERS:
        old = model[key]
        described = {k: old.pop(k) for k in ("description", "default") if k in old}
        model[key] = {"anyOf": [*short, *old.get("anyOf", [old])], **described}
    for section, key in (
        ("AcquisitionSection", "shots"),
        ("AcquisitionSection", "receivers"),
        ("DataSection", "files"),
        ("PrestackDataSection", "files"),
    ):
        prop = definitions[section]["properties"][key]
        described = {k: prop.pop(k) for k in ("description", "default", "title") if k in prop}
        one = prop["items"]
        definitions[section]["properties"][key] = {"anyOf": [prop, one, {"type": "string"}], **described}
    for section in ("Gain", "To2d"):
        prop = definitions[section]["properties"]["velocity"]
        described = {k: prop.pop(k) for k in ("description", "default") if k in prop}
        definitions[section]["properties"]["velocity"] = {
            "anyOf": [*short, *prop.get("anyOf", [prop])],
            **described,
        }
    for section, key in (("VelocitySection", "v"), ("VelocitySection", "eta")):
        prop = definitions[section]["properties"][key]
        prop["anyOf"] = [*short, *prop["anyOf"]]
    velocity, eta = definitions["VelocitySection"]["properties"], definitions["EtaSection"]["properties"]
    velocity["eta"]["anyOf"].append({"$ref": "#/$defs/FunctionSection"})
    either = {"anyOf": short}
    for properties in (velocity, eta):
        properties["columns"]["anyOf"].append(short[1])
        for key in ("spacing", "origin"):
            properties[key]["anyOf"][0]["items"] = either
    values = definitions["FunctionSection"]["properties"]["value"]
    values["anyOf"] = [*short, {"type": "array", "items": either}]
    definitions["KirchhoffSection"]["properties"]["antialias_spacing"]["anyOf"] += short[:1]
    value = definitions["ValueSection"]["properties"]["value"]
    value["anyOf"] = [{"type": "number"}, {"type": "string"}, {"type": "array", "items": {"anyOf": short}}]


def main() -> None:
    """Write the schema of job files beside this module (``make schema``)."""
    from pathlib import Path

    from subsalt.io.publish import publish_text

    publish_text(Path(__file__).with_name("job.schema.json"), schema_text())


if __name__ == "__main__":
    main()
