"""The page of a movie as a file: its size, its policy, what is escaped, what its blocks hold."""

import base64
import gzip
import hashlib
import json
import re

import numpy as np
import pytest
from movie_maker import ring_movie

from subsalt.errors import CannotCreateError
from subsalt.view.movie import PERCENTILES
from subsalt.view.movie_page import (
    SCRIPTS,
    decode,
    page_script,
    served_page,
    thinned,
    velocity_levels,
    write_page,
)

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\u202egnp.\x1b[31m'


def read(path):
    """Return (meta, {id: bytes}) of a page."""
    # not in text mode: that would turn CR into LF, which pages must not hold in the first place
    text = path.read_bytes().decode("utf-8")
    meta = json.loads(re.search(r'id="meta">(.*?)</script>', text)[1])
    blocks = re.findall(r'<script type="text/plain" id="(\w+)">([^<]*)</script>', text)
    return text, meta, {key: gzip.decompress(decode(data)) for key, data in blocks}


def summed(residues, shape):
    """Return the frame (nx[, ny], nz) behind what is left of it: sums along rows, then down, modulo 256."""
    rows = np.cumsum(residues.reshape(-1, shape[0]), axis=1, dtype=np.uint8)
    return np.ascontiguousarray(np.cumsum(rows, axis=0, dtype=np.uint8).reshape(shape[::-1]).T)


@pytest.mark.parametrize("shape", [(60, 40), (12, 10, 16)])
def test_blocks_hold_what_the_movie_holds(tmp_path, shape):
    movie = ring_movie(shape)
    write_page(movie, tmp_path / "m.html")
    _, meta, blocks = read(tmp_path / "m.html")
    assert [a["n"] for a in meta["axes"]] == list(shape)
    assert [f["name"] for f in meta["fields"]] == ["source", "receiver", "image"]
    for f in meta["fields"]:
        data = b"".join(blocks[b["id"]] for b in f["blocks"])
        for i, one in enumerate(np.frombuffer(data, np.uint8).reshape(len(movie.times), -1)):
            np.testing.assert_array_equal(summed(one, shape).view(np.int8), movie.fields[f["name"]].level(i))
    velocity = summed(np.frombuffer(blocks["velocity"], np.uint8), shape)
    np.testing.assert_array_equal(velocity, velocity_levels(movie)[0])
    # within half a level of 255
    v = meta["velocity"]
    back = v["low"] + velocity / 255 * (v["high"] - v["low"])
    assert np.abs(back - movie.velocity).max() <= 0.5001 * (v["high"] - v["low"]) / 255
    n = len(movie.times)
    scales = np.frombuffer(blocks["tables"][: 12 * n], "<f4").reshape(3, n)
    clips = np.frombuffer(blocks["tables"][12 * n :], np.uint8).reshape(3, n, len(PERCENTILES))
    for k, frames in enumerate(movie.fields.values()):
        np.testing.assert_array_equal(scales[k], frames.scale)
        np.testing.assert_array_equal(clips[k], frames.clips())


def test_the_page_is_little_more_than_its_data(tmp_path):
    movie = ring_movie((300, 200), 60)
    size = write_page(movie, tmp_path / "m.html")
    assert size == (tmp_path / "m.html").stat().st_size
    blocks = re.findall(
        r'<script type="text/plain" id="[^"]*">([^<]*)', (tmp_path / "m.html").read_text("utf-8")
    )
    packed = sum(len(decode(text)) for text in blocks)
    assert packed < movie.nbytes / 2
    assert size <= 1.2 * packed + 60e3


def test_the_same_movie_gives_the_same_bytes(tmp_path):
    write_page(ring_movie(), tmp_path / "a.html")
    write_page(ring_movie(), tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_policy_allows_the_one_script_and_the_one_style(tmp_path):
    write_page(ring_movie(), tmp_path / "m.html")
    text, _, _ = read(tmp_path / "m.html")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for tag, content in (
        ("script", re.findall(r"<script>(.*?)</script>", text, re.S)),
        ("style", re.findall(r"<style>(.*?)</style>", text, re.S)),
    ):
        (one,) = content
        digest = base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "connect-src 'self'" in served_page()
    # nothing to fetch, nothing to run besides: no address, no handler in the markup
    markup = re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)
    assert not re.search(r"https?:|\son\w+=|\ssrc=|\sstyle=", markup)


def test_texts_from_files_stay_texts(tmp_path):
    movie = ring_movie(title=HOSTILE, reimage=f"subsalt reimage '{HOSTILE}'")
    movie.run_id, movie.facts = HOSTILE, {HOSTILE: HOSTILE}
    write_page(movie, tmp_path / "m.html")
    text, meta, _ = read(tmp_path / "m.html")
    # one element more for each block, and none from the texts
    assert text.count("<script") == 2 + text.count('type="text/plain"')
    assert "onerror" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)
    assert "\u202e" not in text
    assert "\x1b[31m" not in meta["title"]
    assert meta["title"].startswith("</script><script>alert(1)")


def test_a_page_needs_a_folder(tmp_path):
    with pytest.raises(CannotCreateError):
        write_page(ring_movie(), tmp_path / "none" / "m.html")
    assert not list(tmp_path.iterdir())


def test_all_scripts_are_in_the_page():
    from importlib.resources import files

    names = {p.name for p in files("subsalt.view").joinpath("player").iterdir() if p.name.endswith(".js")}
    assert names == {f"{n}.js" for n in SCRIPTS}
    script = page_script()
    # nothing that runs text, reaches a network by itself, or makes markup of text
    assert not re.search(
        r"\beval\b|new Function|innerHTML|insertAdjacentHTML|XMLHttpRequest|WebSocket|https?://", script
    )


def test_marks_of_a_carpet_are_thinned_to_a_carpet():
    x, y = (a.ravel() for a in np.meshgrid(np.arange(0, 1000, 10.0), np.arange(0, 500, 10.0)))
    thin = thinned(np.stack([x, y, 0 * x], axis=1), 400)
    # every fourth row and column of 100 x 50: 25 x 13
    assert len(thin) == 25 * 13
    assert set(thin[:, 0]) == set(np.arange(0, 1000, 40.0))
    assert set(thin[:, 1]) == set(np.arange(0, 500, 40.0))
    scattered = np.random.default_rng(0).uniform(0, 1000, (5000, 3))
    assert 0 < len(thinned(scattered, 400)) <= 400
    one = np.zeros((1, 3))
    np.testing.assert_array_equal(thinned(one), one)
