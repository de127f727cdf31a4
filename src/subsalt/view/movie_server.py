"""The movie of a shot over HTTP, for one person on this machine: the page, and planes of frames on demand.

It listens only on 127.0.0.1. A request needs the printed token of 128 random bits, in a header that no page of another
origin can send; the page takes it from the fragment of its address, which browsers do not send. Host and Origin must be
this server's, so that another site whose name points to 127.0.0.1 gets nothing. No file is looked up by path: a request
can name the page, the facts, the tables, or a plane by four checked words.

The page of a movie is one HTML file that holds the player and all frames, and loads nothing else.

The player is JavaScript without a framework, in `player/`; its files are combined here in the order of `SCRIPTS`,
within one function. A policy in the page names the hashes of the one script and the one style that may
run, and forbids every connection.

The page holds bytes as text with seven bits in each character, 15 % longer than the bytes (base64: 33 %).
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import hmac
import http.server
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import CannotCreateError, ResourceError
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


def write_page(movie: Movie, path: str | Path) -> int:
    """Publish the page of `movie` as one file; return its bytes.

    Parameters
    ----------
    movie : Movie
        Movie to show.
    path : path
        The HTML file to make or replace.
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
    meta = facts_of(movie)
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
            {"name": a.name, "origin": float(a.origin), "spacing": float(a.spacing), "n": int(a.n)}
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


#: seconds without a question after which the server ends
IDLE = 1800.0
#: seconds that one answer may take to be read, and that a connection may wait
PATIENCE = 20.0
#: answers made at the same time: more wait for their turn
AT_ONCE = 8
#: connections at the same time, slow ones among them: for one more, the one that has waited longest without showing
#: the token goes
MOST_OPEN = 32
#: variables that batch systems set in a job
BATCH = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "SGE_TASK_ID", "OAR_JOB_ID", "FLUX_JOB_ID")

_PLANE = re.compile(r"/plane/([a-z]{1,16})/(\d{1,6})/([012])/(\d{1,6})", re.ASCII)
_TOKEN = "X-Subsalt-Token"


def refuse_batch_node(force: bool) -> None:
    """Refuse inside a batch job, where other people's jobs may share the node, unless `force`."""
    variable = next((name for name in BATCH if os.environ.get(name)), None)
    if variable and not force:
        error = ResourceError(
            f"this is a batch job ({variable} is set): no server is started on its node",
            "write a page with -o, serve from a login node or a workstation, or insist with --force",
            code="E851",
        )
        error.exit_code = 69
        raise error


class MovieServer(http.server.ThreadingHTTPServer):
    """Serve one movie on 127.0.0.1 until no request has come for a while.

    Parameters
    ----------
    movie : Movie
        Movie to show; its frames may lie in a file.
    port : int
        0 takes one that is free.
    idle : float
        Seconds without a question after which `run` returns.
    """

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, movie: Movie, port: int = 0, idle: float = IDLE) -> None:
        self.movie, self.idle = movie, idle
        self.token = secrets.token_hex(16)
        self.page = served_page().encode("utf-8")
        self.facts = json.dumps({**facts_of(movie), "served": True}, allow_nan=False).encode("utf-8")
        self.tables = tables(movie)
        self.velocity = velocity_levels(movie)[0]
        self.last = time.monotonic()
        self._turns, self._lock = threading.BoundedSemaphore(AT_ONCE), threading.Lock()
        #: open connections, the oldest first, and whether they have shown the token
        self._connections: dict[Any, bool] = {}
        try:
            super().__init__(("127.0.0.1", port), _Answer)
        except OSError as e:
            raise CannotCreateError(
                f"cannot listen on 127.0.0.1:{port}: {e.strerror or e}",
                "leave --port out to take any free one, or name another",
                code="E852",
            ) from e
        self.port = int(self.server_address[1])

    @property
    def address(self) -> str:
        """Address to open in a browser; the token stands in the fragment."""
        return f"http://127.0.0.1:{self.port}/#token={self.token}"

    def run(self) -> None:
        """Answer until idle, or until `shutdown` is called from another thread."""
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            self.serve_forever(poll_interval=0.2)
        finally:
            self.server_close()

    def _watch(self) -> None:
        while time.monotonic() - self.last < self.idle:
            time.sleep(min(1.0, self.idle / 4))
        self.shutdown()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection at once; connections that read or send slowly are closed to make room for it."""
        request, address = super().get_request()
        with self._lock:
            order = sorted(self._connections, key=self._connections.__getitem__)  # strangers first, by age
            leaving = order[: len(order) + 1 - MOST_OPEN] if len(order) >= MOST_OPEN else []
            for one in leaving:
                del self._connections[one]
            self._connections[request] = False
        for one in leaving:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # its thread ends by itself
        return request, address

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def knows(self, request: Any) -> None:
        """Note that a connection has shown the token."""
        with self._lock:
            if request in self._connections:
                self._connections[request] = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a reader that went away or was too slow."""

    def answer_in_turn(self, path: str) -> tuple[str, bytes] | None:
        """Return the result of `answer`; a turn lasts while the bytes are gathered, not while they are sent."""
        with self._turns:
            return self.answer(path)

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """Return the type and the bytes of what stands at a path, None when nothing does."""
        known = {
            "/movie": ("application/json", self.facts),
            "/tables": ("application/octet-stream", self.tables),
        }
        if path in known:
            return known[path]
        request = _PLANE.fullmatch(path)
        if not request:
            return None
        field, frame, axis, index = request[1], int(request[2]), int(request[3]), int(request[4])
        shape = self.movie.shape
        # in 2-D there is one plane, which is called that of y
        inside = index < shape[axis] if len(shape) == 3 else (axis, index) == (1, 0)
        if not inside or (field != "velocity" and field not in self.movie.fields):
            return None
        if field == "velocity":
            plane = self.velocity if len(shape) == 2 else np.take(self.velocity, index, axis=axis)
            return "application/octet-stream", np.ascontiguousarray(plane.T).tobytes()
        frames = self.movie.fields[field]
        if frame >= len(frames):
            return None
        return "application/octet-stream", frames.plane(frame, axis, index).tobytes()


class _Answer(http.server.BaseHTTPRequestHandler):
    """The answer to one request."""

    server: MovieServer
    server_version = "subsalt"
    sys_version = ""
    protocol_version = "HTTP/1.0"
    timeout = PATIENCE

    def setup(self) -> None:
        """Bound the whole exchange: with a timeout per read, single bytes could hold a connection permanently."""
        super().setup()
        self._deadline = threading.Timer(PATIENCE, self._give_up)
        self._deadline.daemon = True
        self._deadline.start()

    def finish(self) -> None:
        """Let go of the connection."""
        self._deadline.cancel()
        super().finish()

    def _give_up(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Answer with a body."""
        self._reply(body=True)

    def do_HEAD(self) -> None:
        """Answer without one."""
        self._reply(body=False)

    def _reply(self, *, body: bool) -> None:
        refused = self._refusal()
        if refused:
            self._send(refused, "text/plain", b"", body)
            return
        answer = ("text/html; charset=utf-8", self.server.page) if self.path == "/" else None
        if answer is None and not self._knows_token():
            self._send(403, "text/plain", b"", body)
            return
        self.server.last = time.monotonic()
        if answer is None:
            self.server.knows(self.connection)
            answer = self.server.answer_in_turn(self.path)
        self._send(200, *answer, body) if answer else self._send(404, "text/plain", b"", body)

    def _refusal(self) -> int:
        """Return the status for whom this server does not talk to, 0 for others."""
        mine = {f"127.0.0.1:{self.server.port}", f"localhost:{self.server.port}"}
        hosts = self.headers.get_all("Host") or []
        origins = self.headers.get_all("Origin") or []
        site = self.headers.get("Sec-Fetch-Site", "none")
        if (
            len(hosts) != 1
            or hosts[0] not in mine
            or any(o not in {f"http://{m}" for m in mine} for o in origins)
        ):
            return 403
        # another page may link here, and gets the empty page; it may not ask for anything
        if site not in ("none", "same-origin") and self.path != "/":
            return 403
        # nobody who reads has anything to send
        return (
            400
            if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers
            else 0
        )

    def _knows_token(self) -> bool:
        given = self.headers.get(_TOKEN, "").encode("utf-8", "replace")
        return hmac.compare_digest(given, self.server.token.encode("ascii"))

    def _send(self, status: int, kind: str, data: bytes, body: bool) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(data))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Content-Security-Policy", self._policy(kind)),
        ):
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _policy(self, kind: str) -> str:
        # the page brings its own, with the hashes of its script and style; both hold
        return "frame-ancestors 'none'" if kind.startswith("text/html") else "default-src 'none'; sandbox"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: paths would only repeat what the browser shows."""
