"""How fast does the page of a movie load and play, and how much larger is it than its data?

Waves from a dozen points are written as pages of several sizes, which a headless chromium opens and plays in
software, without a graphics card. What is drawn is checked against NumPy first. Columns: raw MB unpacked; page MB
and its ratio to the packed frames (without 60 kB for the player); load: s from opening the file until all frames are
unpacked; drawn/s: frames drawn a second while it plays, which the display limits to 60; ms: drawing one frame alone,
all fields.

    python benchmarks/player.py [--out player.json]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from facts import machine

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "view"))

from movie_pixels import pixels  # the reference of the tests

from subsalt.view.movie import Frames, Movie, MovieAxis
from subsalt.view.movie_page import decode, write_page

CASES = {
    "400 x 300, 40 frames": ((400, 300), 40),
    "1000 x 500, 30 frames": ((1000, 500), 30),
    "64 x 64 x 64, 60 frames": ((64, 64, 64), 60),
}


def waves(shape: tuple[int, ...], count: int) -> Movie:
    """Return a movie of circular waves from a dozen points."""
    rng = np.random.default_rng(7)
    grids = np.meshgrid(*(np.arange(n, dtype=np.float32) for n in shape), indexing="ij", sparse=True)
    starts = [
        (
            np.sqrt(sum((g - rng.uniform(0, n)) ** 2 for g, n in zip(grids, shape, strict=True))),
            rng.uniform(0, 0.7),
        )
        for _ in range(12)
    ]
    fields = {name: Frames(count, shape) for name in ("source", "receiver", "image")}
    total = np.zeros(shape, np.float32)
    for i in range(count):
        field = np.zeros(shape, np.float32)
        for r, begin in starts:
            front = max(shape) * (i / count - begin)
            if front > 0:
                a = ((r - front) / 6) ** 2
                field += (1 - 2 * a) * np.exp(-a) / (1 + 0.02 * front)
        total += field * field[::-1]
        fields["source"].put(i, field)
        fields["receiver"].put(i, field[::-1])
        fields["image"].put(i, total)
    axes = tuple(
        MovieAxis(n, 0.0, 10.0, m) for n, m in zip("xyz" if len(shape) == 3 else "xz", shape, strict=True)
    )
    velocity = np.broadcast_to(1500 + 2000 * grids[-1] / shape[-1], shape).astype(np.float32)
    here = np.zeros((1, 3))
    times = 0.05 * np.arange(count)
    return Movie(1, "benchmark", "", axes, times, np.arange(count), velocity, fields, here, here, facts={})


def measure(browser, movie: Movie, folder: Path, seconds: float) -> dict[str, float]:
    """Return the numbers of one movie."""
    path = folder / "movie.html"
    size = write_page(movie, path)
    blocks = re.findall(r'<script type="text/plain" id="[^"]*">([^<]*)', path.read_bytes().decode("utf-8"))
    packed = sum(len(decode(text)) for text in blocks)
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    begin = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-loaded=yes]", state="attached")
    load = time.perf_counter() - begin
    check(page, movie)
    draw = page.evaluate(
        "() => { const p = window.subsaltPlayer, n = p.meta.times.length, t = performance.now();"
        " for (let i = 0; i < n; i++) { p.state.frame = i; p.draw(); } return (performance.now() - t) / n; }"
    )
    page.evaluate("() => window.subsaltPlayer.change({ speed: 4, playing: true, frame: 0 })")
    before, begin = page.evaluate("window.subsaltPlayer.drawn"), time.perf_counter()
    page.wait_for_timeout(1000 * seconds)
    drawn = (page.evaluate("window.subsaltPlayer.drawn") - before) / (time.perf_counter() - begin)
    page.close()
    ratio = (size - 60e3) / packed
    return {
        "raw_mb": movie.nbytes / 1e6,
        "page_mb": size / 1e6,
        "ratio": ratio,
        "load_s": load,
        "drawn": drawn,
        "draw_ms": draw,
    }


def check(page, movie: Movie) -> None:
    """Compare a drawn frame with NumPy."""
    last = len(movie.times) - 1
    page.evaluate("i => { const p = window.subsaltPlayer; p.state.frame = i; p.draw(); }", last)
    rows, columns, data = page.evaluate(
        "() => { const c = document.querySelector('canvas[data-field=source][data-plane=xz]');"
        " return [c.height, c.width, Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data)]; }"
    )
    axis = 1 if len(movie.shape) == 3 else None
    want = pixels(movie, "source", last, axis=axis, index=movie.shape[1] // 2)
    assert np.array_equal(np.array(data, np.uint8).reshape(rows, columns, 4)[..., :3], want), "pixels differ"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds that each movie plays")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no chromium on PATH")
    from playwright.sync_api import sync_playwright

    facts, rows = machine(1), {}
    with sync_playwright() as p, tempfile.TemporaryDirectory() as folder:
        browser = p.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        facts["browser"] = f"chromium {browser.version}, headless, software"
        print(" ".join(f"{k} {v}" for k, v in facts.items()))
        print(
            f"{'movie':<26} {'raw MB':>7} {'page MB':>8} {'ratio':>6} {'load s':>7} {'drawn/s':>8} {'ms':>6}"
        )
        for name, (shape, count) in CASES.items():
            r = rows[name] = measure(browser, waves(shape, count), Path(folder), options.seconds)
            print(
                f"{name:<26} {r['raw_mb']:7.1f} {r['page_mb']:8.2f} {r['ratio']:6.2f} {r['load_s']:7.2f} "
                f"{r['drawn']:8.1f} {r['draw_ms']:6.1f}",
                flush=True,
            )
        browser.close()
    if options.out:
        options.out.write_text(
            json.dumps({"machine": facts, "rows": rows}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
