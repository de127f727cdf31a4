"""The movie of a shot over HTTP, for one person on this machine: the page, and planes of frames on demand.

It listens on 127.0.0.1 alone. Whoever asks needs the token of 128 random bits that was printed, in a header that no
page of another origin can send; the page takes it from the fragment of its address, which browsers do not send.
Host and Origin must be this server's, so that a name that some site points to 127.0.0.1 gets nothing. Nothing is
looked up by path: what may be asked for is the page, the facts, the tables, and a plane by four checked words.
"""

from __future__ import annotations

import contextlib
import hmac
import http.server
import json
import os
import re
import secrets
import socket
import threading
import time
from typing import Any

import numpy as np

from subsalt.errors import CannotCreateError, ResourceError
from subsalt.view import movie_page
from subsalt.view.movie import Movie

#: seconds without a question after which the server ends
IDLE = 1800.0
#: seconds that one answer may take to be read, and that a connection may wait
PATIENCE = 20.0
#: questions answered at the same time; more wait for their turn in the system's queue
AT_ONCE = 8
#: variables that batch systems set in a job
BATCH = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "SGE_TASK_ID", "OAR_JOB_ID", "FLUX_JOB_ID")

_PLANE = re.compile(r"/plane/([a-z]{1,16})/(\d{1,6})/([012])/(\d{1,6})", re.ASCII)
_TOKEN = "X-Subsalt-Token"


def refuse_batch_node(force: bool) -> None:
    """Refuse inside a batch job, where other people's jobs may share the node, unless `force`."""
    found = next((name for name in BATCH if os.environ.get(name)), None)
    if found and not force:
        error = ResourceError(
            f"this is a batch job ({found} is set): no server is started on its node",
            "write a page with -o, serve from a login node or a workstation, or insist with --force",
            code="E851",
        )
        error.exit_code = 69
        raise error


class MovieServer(http.server.ThreadingHTTPServer):
    """Serve one movie on 127.0.0.1 until nobody has asked for a while.

    Parameters
    ----------
    movie : Movie
        What to show; its frames may lie in a file.
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
        self.page = movie_page.served_page().encode("utf-8")
        self.facts = json.dumps({**movie_page.facts_of(movie), "served": True}, allow_nan=False).encode(
            "utf-8"
        )
        self.tables = movie_page.tables(movie)
        self.velocity = movie_page.velocity_levels(movie)[0]
        self.last = time.monotonic()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
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
        """What to open in a browser; the token stands in the fragment."""
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
        """Take a connection when fewer than `AT_ONCE` are being answered."""
        self._turns.acquire()
        try:
            return super().get_request()
        except BaseException:
            self._turns.release()
            raise

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and let the next one in."""
        try:
            super().shutdown_request(request)
        finally:
            self._turns.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about a reader that went away or was too slow."""

    def answer(self, path: str) -> tuple[str, bytes] | None:
        """Return the type and the bytes of what stands at a path, None when nothing does."""
        known = {
            "/movie": ("application/json", self.facts),
            "/tables": ("application/octet-stream", self.tables),
        }
        if path in known:
            return known[path]
        asked = _PLANE.fullmatch(path)
        if not asked:
            return None
        field, frame, axis, index = asked[1], int(asked[2]), int(asked[3]), int(asked[4])
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
    """One question."""

    server: MovieServer
    server_version = "subsalt"
    sys_version = ""
    protocol_version = "HTTP/1.0"
    timeout = PATIENCE

    def setup(self) -> None:
        """Bound the whole exchange: a timeout alone would let a byte now and then hold a turn for ever."""
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
        found = ("text/html; charset=utf-8", self.server.page) if self.path == "/" else None
        if found is None and not self._knows_token():
            self._send(403, "text/plain", b"", body)
            return
        self.server.last = time.monotonic()
        found = found or self.server.answer(self.path)
        self._send(200, *found, body) if found else self._send(404, "text/plain", b"", body)

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
