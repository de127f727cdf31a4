"""The movie server: who gets what, and that nobody gets anything else."""

import http.client
import json
import re
import socket
import threading
import time

import numpy as np
import pytest
from movie_maker import ring_movie

from subsalt.errors import CannotCreateError, ResourceError
from subsalt.view import movie_server
from subsalt.view.movie_server import MovieServer, refuse_batch_node


@pytest.fixture(scope="module")
def server():
    one = MovieServer(ring_movie((12, 10, 16), 5))
    thread = threading.Thread(target=one.run)
    thread.start()
    yield one
    one.shutdown()
    thread.join(10)
    assert not thread.is_alive()


def ask(server, path, method="GET", token=None, **headers):
    """Return (status, body, headers) of one question."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    token = server.token if token is None else token
    link.request(method, path, headers={"X-Subsalt-Token": token, **named})
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, body, answer.headers


def test_planes_are_those_of_the_frames(server):
    frames = server.movie.fields["receiver"]
    for axis, index in ((0, 3), (1, 9), (2, 0)):
        status, body, headers = ask(server, f"/plane/receiver/4/{axis}/{index}")
        assert status == 200
        np.testing.assert_array_equal(
            np.frombuffer(body, np.int8), np.take(frames.level(4), index, axis=axis).T.ravel()
        )
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert (
        ask(server, "/plane/velocity/0/1/2")[1]
        == np.ascontiguousarray(np.take(server.velocity, 2, axis=1).T).tobytes()
    )
    assert json.loads(ask(server, "/movie")[1])["shot"] == 7
    assert len(ask(server, "/tables")[1]) == 3 * 5 * (4 + 9)


def test_the_page_holds_nothing_of_the_survey(server):
    status, body, headers = ask(server, "/", token="")
    assert status == 200
    assert b"rings" not in body
    assert server.token.encode() not in body
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/movie", "/tables", "/plane/source/0/1/0", "/nothing", "/../etc/passwd"])
def test_nothing_without_the_token(server, path):
    for token in ("", "0" * 32, server.token[:-1], server.token + "x"):
        status, body, _ = ask(server, path, token=token)
        assert (status, body) == (403, b"")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:PORT", "[::1]:PORT", ""]
)
def test_other_hosts_are_refused(server, host):
    for path in ("/", "/movie"):
        assert ask(server, path, Host=host.replace("PORT", str(server.port)))[:2] == (403, b"")


def test_localhost_is_this_host(server):
    assert ask(server, "/movie", Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:PORT", "http://127.0.0.1"]
)
def test_other_origins_are_refused(server, origin):
    assert ask(server, "/movie", Origin=origin.replace("PORT", str(server.port)))[:2] == (403, b"")


def test_this_origin_is_answered(server):
    assert ask(server, "/movie", Origin=f"http://127.0.0.1:{server.port}")[0] == 200
    assert ask(server, "/movie", Sec_Fetch_Site="cross-site")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/plane/../movie",
        "/plane/source/0/1/10",
        "/plane/source/5/1/0",
        "/plane/source/-1/1/0",
        "/plane/source/0/3/0",
        "/plane/source/٣/1/0",
        "/plane/other/0/1/0",
        "/plane/velocity/0/0/12",
        "/plane/source/0/1/0/",
        "/plane/source/0/1/0?x=1",
        "/plane/source/99999999999999999999/1/0",
        "/movie/",
        "/player/main.js",
    ],
)
def test_paths_that_are_not_registered(server, path):
    from urllib.parse import quote

    url = quote(path, safe="/%?=")
    assert ask(server, url)[:2] == (404, b"")


def test_a_link_in_the_working_folder_is_no_path(server, tmp_path, monkeypatch):
    (tmp_path / "movie2").symlink_to("/etc/passwd")
    monkeypatch.chdir(tmp_path)
    assert ask(server, "/movie2")[:2] == (404, b"")


def test_methods(server):
    status, body, headers = ask(server, "/movie", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(server.facts)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert ask(server, "/movie", method)[0] == 501
    assert ask(server, "/movie", Content_Length="5")[0] == 400


@pytest.fixture
def crowded():
    """A server, and a list of connections that are closed at the end; nothing is given up in the time of a test."""
    one, slow = MovieServer(ring_movie((12, 10, 16), 5)), []
    thread = threading.Thread(target=one.run)
    thread.start()
    yield one, slow
    for s in slow:
        s.close()
    one.shutdown()
    thread.join(10)


@pytest.mark.parametrize("count", [movie_server.AT_ONCE, 3 * movie_server.MOST_OPEN])
def test_slow_connections_keep_nobody_out(crowded, count):
    """In the middle of their question, with and without the token: whoever comes then need not wait for them."""
    one, slow = crowded
    for k in range(count):
        s = socket.create_connection(("127.0.0.1", one.port))
        s.sendall(b"GET /movie HTTP/1.1\r\nHost: " if k % 2 else b"")
        slow.append(s)
    for _ in range(5):
        # in less than their patience: `ask` waits for half of it
        assert ask(one, "/movie")[0] == 200
    assert len(one._connections) <= movie_server.MOST_OPEN


def test_slow_readers_keep_nobody_out(crowded, monkeypatch):
    """Of answers too long for the buffers of the system: while they are read, others get theirs."""
    one, slow = crowded
    monkeypatch.setattr(one, "tables", bytes(64 << 20))
    question = f"GET /tables HTTP/1.1\r\nHost: 127.0.0.1:{one.port}\r\nX-Subsalt-Token: {one.token}\r\n\r\n"
    for _ in range(movie_server.AT_ONCE + 2):
        s = socket.create_connection(("127.0.0.1", one.port))
        s.sendall(question.encode())
        assert s.recv(5)
        slow.append(s)
    assert ask(one, "/movie")[0] == 200
    # who has shown the token stays when strangers come
    for _ in range(2 * movie_server.MOST_OPEN):
        slow.append(socket.create_connection(("127.0.0.1", one.port)))
    assert ask(one, "/movie")[0] == 200
    assert sum(one._connections.values()) >= movie_server.AT_ONCE + 2


def test_a_byte_now_and_then_prolongs_nothing(crowded, monkeypatch):
    one, slow = crowded
    monkeypatch.setattr(movie_server, "PATIENCE", 0.5)
    s = socket.create_connection(("127.0.0.1", one.port))
    slow.append(s)
    with pytest.raises(OSError):
        _drip(s, b"GET /movie HTTP/1.1\r\nX: " + b"x" * 10_000)


def _drip(connection, text):
    """Send a text byte by byte, slowly."""
    for byte in text:
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


def test_it_ends_when_nobody_asks():
    one = MovieServer(ring_movie((8, 8), 2), idle=0.2)
    thread = threading.Thread(target=one.run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_it_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    # 128 bits
    assert re.fullmatch("[0-9a-f]{32}", server.token)


def test_a_taken_port_is_said(server):
    with pytest.raises(CannotCreateError, match=f"cannot listen on 127.0.0.1:{server.port}") as caught:
        MovieServer(ring_movie((8, 8), 2), port=server.port)
    assert caught.value.code == "E852"


def test_batch_nodes_are_refused_unless_forced(monkeypatch):
    for name in movie_server.BATCH:
        monkeypatch.delenv(name, raising=False)
    refuse_batch_node(force=False)
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    with pytest.raises(ResourceError, match="SLURM_JOB_ID") as caught:
        refuse_batch_node(force=False)
    assert (caught.value.code, caught.value.exit_code) == ("E851", 69)
    refuse_batch_node(force=True)
