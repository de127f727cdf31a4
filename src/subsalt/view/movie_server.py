"""The movie of a shot over HTTP, for one person on this machine: the page, and planes of frames on demand.

It listens only on 127.0.0.1. A request needs the printed token of 128 random bits, in a header that no page of another
origin can send; the page takes it from the fragment of its address, which browsers do not send. Host and Origin must be
this server's, so that another site whose name points to 127.0.0.1 gets nothing. No file is looked up by path: a request
can name the page, the facts, the tables, or a plane by four checked words.
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
from subsalt.view.movie import Movie
from subsalt.view.movie_page import facts_of, served_page, tables, velocity_levels

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
