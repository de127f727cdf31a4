"""The page of a movie: one HTML file that holds the player and all frames, and loads nothing else.

The player is JavaScript without a framework, in `player/`; its files are combined here in the order of `SCRIPTS`,
within one function. A policy in the page names the hashes of the one script and the one style that may
run, and forbids every connection.

The page holds bytes as text with seven bits in each character, 15 % longer than the bytes (base64: 33 %).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.view import palettes, style
from subsalt.view.movie import FIELDS, PERCENTILES, Frames, Movie

#: what HTML changes or ends a script with: NUL, CR and <; they go out with the eighth bit, hence as two bytes of UTF-8
_CHANGED = (0, 13, 60)


def encode(data: bytes) -> str:
    """Return `data` as text, most significant bits first; `decode` and the player's `bytesOf` undo it.

    Notes
    -----
    The characters are those of ASCII, controls included, which the parser of HTML leaves alone inside a ``script``,
    except for three: these get 128 added. A decoder looks at the lower seven bits only.
    """
    codes = _septets(data)
    for c in _CHANGED:
        codes[codes == c] = c + 128
    return codes.tobytes().decode("latin-1")


def decode(text: str) -> bytes:
    """Return the bytes of a text that `encode` made."""
    codes = np.frombuffer(text.encode("latin-1"), dtype=np.uint8) & np.uint8(127)
    n = len(codes) * 7 // 8
    bits = np.unpackbits(codes[:, None], axis=1)[:, 1:].ravel()
    return np.packbits(bits[: n * 8]).tobytes()


def _septets(data: bytes) -> np.ndarray:
    """Return the numbers 0..127 of which each takes seven bits; the last is filled up with zeros."""
    n = -(-len(data) * 8 // 7)
    b = np.zeros((-(-len(data) // 7), 7), dtype=np.uint8)
    b.reshape(-1)[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    out = np.empty((len(b), 8), dtype=np.uint8)
    out[:, 0] = b[:, 0] >> 1
    for k in range(1, 7):
        out[:, k] = (b[:, k - 1] << (7 - k) | b[:, k] >> (k + 1)) & 127
    out[:, 7] = b[:, 6] & 127
    return out.reshape(-1)[:n].copy()


SCRIPTS = ("decode", "sources", "colour", "state", "slice", "player", "controls", "main")
#: level of gzip: 9 takes nine times as long and saves two per cent
LEVEL = 6
#: bytes of frames that are packed, and unpacked by the page, at once
BLOCK = 1 << 20
#: velocities that colours distinguish; the player has the same number
COLOURS = 64
#: receivers that are marked
MOST_MARKS = 400


def write_page(movie: Movie, path: str | Path, more: Mapping[str, Any] | None = None) -> int:
    """Publish the page of `movie` as one file; return its bytes.

    Parameters
    ----------
    movie : Movie
        Movie to show.
    path : path
        The HTML file to make or replace.
    more : mapping, optional
        Facts that replace those of `facts_of`.
    """
    from subsalt.io.publish import atomic_write

    blocks: dict[str, bytes] = {"tables": tables(movie), "velocity": _residues(velocity_levels(movie)[0])}
    places: dict[str, list[dict[str, Any]]] = {}
    for name, frames in shown_fields(movie):
        places[name] = []
        step = max(1, BLOCK // max(1, frames.nbytes // max(1, len(frames))))
        for first in range(0, len(frames), step):
            count = min(step, len(frames) - first)
            places[name].append({"id": f"{name}{first}", "first": first, "count": count})
    meta = {**facts_of(movie), **(more or {})}
    meta["tables"] = "tables"
    meta["velocity"]["block"] = "velocity"
    for one in meta["fields"]:
        one["blocks"] = places[one["name"]]
    with atomic_write(Path(path), "w") as out:
        for piece in _shell(meta, ""):
            if piece is not None:
                out.write(piece)
                continue
            for key, data in blocks.items():
                out.write(_block(key, data))
            for name, frames in shown_fields(movie):
                for b in places[name]:
                    some = range(b["first"], b["first"] + b["count"])
                    out.write(_block(b["id"], b"".join(_residues(frames.level(i)) for i in some)))
    return Path(path).stat().st_size


def served_page() -> str:
    """Return the page that asks its server for everything but the player."""
    return "".join(p for p in _shell({"served": True}, "connect-src 'self'; ") if p is not None)


def shown_fields(movie: Movie) -> list[tuple[str, Frames]]:
    """Return the fields of a movie in the order in which they are shown."""
    return [(name, movie.fields[name]) for name in FIELDS if name in movie.fields]


def facts_of(movie: Movie) -> dict[str, Any]:
    """Return the facts of a movie besides its frames; texts are shown as text, never as markup."""
    low, high = velocity_levels(movie)[1]
    two = len(movie.axes) == 2
    marks = {"sources": thinned(movie.sources), "receivers": thinned(movie.receivers)}
    return {
        "title": style.printable(movie.title),
        "run": style.printable(movie.run_id),
        "shot": int(movie.shot),
        "axes": [
            {
                "name": a.name,
                "label": a.label or a.name,
                "unit": a.unit,
                "origin": float(a.origin),
                "spacing": float(a.spacing),
                "n": int(a.n),
                "long": float(a.n * a.spacing if a.long is None else a.long),
            }
            for a in movie.axes
        ],
        "times": [round(float(t), 6) for t in movie.times],
        "opening": movie.opening,
        "samples": [int(i) for i in movie.samples],
        "percentiles": list(PERCENTILES),
        "fields": [
            {"name": name, "clips": [float(f"{c:.6g}") for c in frames.movie_clips()]}
            for name, frames in shown_fields(movie)
        ],
        "velocity": {"low": low, "high": high, "colours": _velocity_colours()},
        **{k: [[round(float(x), 2) for x in (p[[0, 2]] if two else p)] for p in v] for k, v in marks.items()},
        "reimage": style.printable(movie.reimage, 2000),
        "facts": [[style.printable(k), style.printable(v)] for k, v in movie.facts.items()],
        "served": False,
    }


def tables(movie: Movie) -> bytes:
    """Return the scales of all frames, float32, field by field, then their clips by percentile, one byte each."""
    fields = [frames for _, frames in shown_fields(movie)]
    return b"".join([f.scale.astype("<f4").tobytes() for f in fields] + [f.clips().tobytes() for f in fields])


def velocity_levels(movie: Movie) -> tuple[NDArray[np.uint8], tuple[float, float]]:
    """Return velocity as 0..255, and the velocities (m/s) of these two."""
    low, high = style.value_limits(movie.velocity)
    v = (movie.velocity.astype(np.float64) - low) * (255.0 / (high - low))
    return np.rint(np.clip(np.nan_to_num(v), 0, 255)).astype(np.uint8), (float(low), float(high))


def thinned(places: NDArray[np.float64], most: int = MOST_MARKS) -> NDArray[np.float64]:
    """Return at most `most` of the places (n, 3): of a line every so many, of a carpet whole rows and columns."""
    places = np.atleast_2d(places)
    known = [np.unique(places[:, k]) for k in (0, 1)]
    for step in range(1, max(map(len, known)) + 1):
        chosen = np.isin(places[:, 0], known[0][::step]) & np.isin(places[:, 1], known[1][::step])
        if chosen.sum() <= most:
            return places[chosen]
    return style.thin(places, most)


def _velocity_colours() -> str:
    """Return the colours of slow to fast as hexadecimal digits, six each; no lighter than white waves stand out of."""
    rgb = palettes.colours_of("velocity", COLOURS)[:, :3]
    return np.rint((0.08 + 0.72 * rgb) * 255).astype(np.uint8).tobytes().hex()


def _residues(levels: NDArray) -> bytes:
    """Return a frame with depth slowest, as a picture is drawn: what is left of each level, modulo 256, once those
    beside, above, and between are taken for a plane. Waves are smooth: gzip makes a third less of it.
    """
    u = np.ascontiguousarray(levels.T).view(np.uint8).reshape(-1, levels.shape[0])
    out = u.copy()
    out[:, 1:] -= u[:, :-1]
    out[1:] -= u[:-1]
    out[1:, 1:] += u[:-1, :-1]
    return out.tobytes()


def _block(key: str, data: bytes) -> str:
    packed = gzip.compress(data, LEVEL, mtime=0)
    return f'<script type="text/plain" id="{key}">{encode(packed)}</script>\n'


def _shell(meta: dict[str, Any], may: str) -> Iterator[str | None]:
    """Yield the page in pieces; None stands where blocks of data go. `may` is what its policy allows besides."""
    script, looks, body = page_script(), _asset("style.css"), _asset("page.html")
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_hash(script)}'; style-src '{_hash(looks)}'; {may}"
        "base-uri 'none'; form-action 'none'"
    )
    # in a script element only "<" can end the element or begin a comment
    facts = json.dumps(meta, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
        f"<title>subsalt play</title>\n<style>{looks}</style>\n</head>\n<body>\n{body}"
        f'<script type="application/json" id="meta">{facts}</script>\n'
    )
    yield None
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def page_script() -> str:
    """Return the player: all its files within one function."""
    parts = "".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    """Return a file of the player without indentation and lines of comment: a page carries what a browser reads."""
    text = files("subsalt.view").joinpath("player", name).read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    if name.endswith(".js"):
        lines = (line for line in lines if not line.startswith(("//", "/**", "*")))
    return "\n".join(line for line in lines if line) + "\n"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
