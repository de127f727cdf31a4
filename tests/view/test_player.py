"""The player in a browser: what it draws, its keys, its links, the region, the server behind it.

A headless chromium of the system draws in software. Nothing here depends on how fast it is; `benchmarks/player.py`
measures that.
"""

import json
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from movie_maker import ring_movie
from movie_pixels import pixels

from patience import PATIENCE
from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
from subsalt.libraries import player_widget
from subsalt.view.movie_page import write_page
from subsalt.view.movie_server import MovieServer
from subsalt.view.volume_page import volume_page

pytestmark = pytest.mark.browser

PIXELS = """([field, plane]) => {
  const canvas = document.querySelector(`canvas[data-field="${field}"][data-plane="${plane}"]`);
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return [canvas.height, canvas.width, Array.from(data)];
}"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium on PATH")
    with playwright.sync_playwright() as p:
        # a container has neither the rights for a sandbox nor much shared memory
        one = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield one
        one.close()


@pytest.fixture
def show(browser):
    """Return a function that opens a page of a size and returns it; at the end nothing was logged or fetched."""
    urls, urls_asked, contexts, allowed = [], [], [], ["data:"]

    def call(address, *, size=(1200, 800), scheme="light"):
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: urls.append(m.text))
        page.on("pageerror", lambda e: urls.append(str(e)))
        page.on("request", lambda r: urls_asked.append(r.url))
        allowed.append(address.split("#")[0])
        page.goto(address)
        page.wait_for_selector("html[data-loaded=yes]", state="attached")
        until(page, "window.subsaltPlayer.stale === false")
        return page

    yield call
    for context in contexts:
        context.close()
    # reading pixels back, as the tests do and the page does not, draws a remark on how to do it faster
    assert not [text for text in urls if "willReadFrequently" not in text]
    assert all(url.startswith(tuple(allowed)) for url in urls_asked), urls_asked


@pytest.fixture
def show_text(browser):
    """Return a function that shows the text of a page; at the end nothing was logged or fetched."""
    context, said = browser.new_context(viewport={"width": 1000, "height": 900}), []

    def call(text):
        page = context.new_page()
        page.on("console", lambda m: said.append(m.text))
        page.on("pageerror", lambda e: said.append(str(e)))
        page.on("request", lambda r: said.append(r.url))
        page.set_content(text)
        return page

    yield call
    context.close()
    assert [text for text in said if not text.startswith("data:") and "willReadFrequently" not in text] == []


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """Return a 2-D movie and the address of its page."""
    movie = ring_movie()
    path = tmp_path_factory.mktemp("flat") / "m.html"
    write_page(movie, path)
    return movie, path.as_uri()


@pytest.fixture(scope="module")
def solid(tmp_path_factory):
    """Return a 3-D movie and the address of its page."""
    movie = ring_movie((24, 20, 16), 8)
    path = tmp_path_factory.mktemp("solid") / "m.html"
    write_page(movie, path)
    return movie, path.as_uri()


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """Return the address of the page of a 3-D image."""
    folder = tmp_path_factory.mktemp("still")
    values = np.random.default_rng(3).standard_normal((24, 20, 16)).astype(np.float32)
    volume.write(folder / "image.rsf", Grid(values.shape, (10.0, 10.0, 5.0)), values)
    return volume_page(folder / "image.rsf", folder / "image.html").as_uri()


@pytest.mark.parametrize("width", [1400, 800])
def test_an_image_shows_three_sections_whose_sliders_fit_the_window(show, still, width):
    page = show(still, size=(width, 1000))
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate("document.getElementById('controls').getBoundingClientRect().bottom") <= 1000
    assert page.evaluate("document.querySelectorAll('canvas[data-field=image]').length") == 3
    # what plays a movie is not there
    assert not page.is_visible("#play")
    assert not page.is_visible("#time")
    assert not page.is_visible("#region")
    assert page.is_visible("#at-z")


def test_sliders_and_keys_move_the_sections_of_an_image(show, still):
    page = show(still)
    before = drawn(page, "image", "xy")
    z = page.evaluate("window.subsaltPlayer.state.point[2]")
    page.keyboard.press("z")
    assert page.evaluate("window.subsaltPlayer.state.point[2]") == z + 5.0
    assert (drawn(page, "image", "xy") != before).any()
    page.fill("#at-x", "3")
    assert page.evaluate("window.subsaltPlayer.state.point[0]") == 30.0
    assert "depth" in page.text_content("#where")
    # keys of movies do nothing
    page.keyboard.press("v")
    assert state(page, "under") == 0
    page.keyboard.press(" ")
    assert state(page, "playing") is False
    page.keyboard.press("p")
    assert state(page, "palette") == "residual"


def drawn(page, field, plane="xz"):
    """Return the pixels of a canvas, (rows, columns, 3)."""
    until(page, "window.subsaltPlayer.stale === false")
    rows, columns, data = page.evaluate(PIXELS, [field, plane])
    rgba = np.array(data, dtype=np.uint8).reshape(rows, columns, 4)
    assert (rgba[..., 3] == 255).all()
    return rgba[..., :3]


def until(page, expression):
    """Wait until an expression is true: by asking, since the policy of the page forbids what playwright would do."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never: {expression}"
        page.wait_for_timeout(10)


def state(page, name):
    return page.evaluate("name => window.subsaltPlayer.state[name]", name)


@pytest.mark.parametrize(
    ("link", "look"),
    [
        ("", {}),
        ("clip=90&gain=6", {"clip": 90.0, "gain": 6.0}),
        ("palette=residual&velocity=0&scale=frame", {"palette": "residual", "under": 0.0, "each": True}),
        (
            "palette=neon&velocity=100&clip=100&gain=-12",
            {"palette": "neon", "under": 1.0, "clip": 100.0, "gain": -12.0},
        ),
    ],
)
def test_frames_are_those_of_numpy(show, flat, link, look):
    movie, address = flat
    page = show(f"{address}#t=0.3&{link}")
    frame = int(np.argmin(np.abs(movie.times - 0.3)))
    for field in movie.fields:
        np.testing.assert_array_equal(drawn(page, field), pixels(movie, field, frame, **look))
    page.keyboard.press("End")
    np.testing.assert_array_equal(drawn(page, "image"), pixels(movie, "image", len(movie.times) - 1, **look))


def test_planes_of_a_volume_are_those_of_numpy(show, solid):
    movie, address = solid
    x, y, z = movie.axes
    at = (x.origin + 5 * x.spacing, y.origin + 13 * y.spacing, z.origin + 9 * z.spacing)
    page = show(f"{address}#t={movie.times[3]}&x={at[0]}&y={at[1]}&z={at[2]}")
    for plane, axis, index in (("xy", 2, 9), ("xz", 1, 13), ("yz", 0, 5)):
        want = pixels(movie, "source", 3, axis=axis, index=index)
        np.testing.assert_array_equal(drawn(page, "source", plane), want)
    # a key, and a slider, move a plane
    page.keyboard.press("y")
    np.testing.assert_array_equal(drawn(page, "receiver"), pixels(movie, "receiver", 3, axis=1, index=14))
    page.locator("#at-y").fill("2")
    np.testing.assert_array_equal(drawn(page, "receiver"), pixels(movie, "receiver", 3, axis=1, index=2))
    # so does a click on the map: the left lower corner is the origin
    box = page.locator('canvas[data-field="source"][data-plane="xy"]').bounding_box()
    page.mouse.click(box["x"] + 1, box["y"] + box["height"] - 1)
    np.testing.assert_array_equal(drawn(page, "image", "yz"), pixels(movie, "image", 3, axis=0, index=0))
    np.testing.assert_array_equal(drawn(page, "image", "xz"), pixels(movie, "image", 3, axis=1, index=0))


def test_it_plays_loops_and_stops(show, flat):
    movie, address = flat
    last = len(movie.times) - 1
    page = show(address)
    page.keyboard.press(" ")
    assert page.get_attribute("#play", "aria-label") == "pause"
    # all frames come by, round the end
    until(page, f"window.subsaltPlayer.drawn > {last + 3}")
    page.keyboard.press(" ")
    assert not state(page, "playing")
    page.keyboard.press("l")
    page.keyboard.press("Home")
    page.click("#play")
    until(page, "!window.subsaltPlayer.state.playing")
    assert state(page, "frame") == last
    # from the end it begins anew; backwards it ends at the beginning
    page.keyboard.press("b")
    page.click("#play")
    until(page, "!window.subsaltPlayer.state.playing")
    assert state(page, "frame") == 0
    page.click("#play")
    until(page, "!window.subsaltPlayer.state.playing")
    assert state(page, "frame") == 0


def test_it_opens_on_a_frame_that_shows_a_wave(show, flat):
    movie, address = flat
    assert movie.opening > 0
    assert state(show(address), "frame") == movie.opening


def test_keys_do_what_the_help_says(show, flat):
    page = show(flat[1])
    for keys, name, value in (
        ("Home", "frame", 0),
        ("ArrowRight ArrowRight ArrowLeft", "frame", 1),
        ("Shift+ArrowRight", "frame", 11),
        ("Home", "frame", 0),
        ("]", "clip", 6),
        ("[ [", "clip", 4),
        ("+", "gain", 3),
        ("- -", "gain", -3),
        (".", "speed", 2),
        (", ,", "speed", 0.5),
        ("p", "palette", "residual"),
        ("v", "under", 0),
        ("f", "perFrame", True),
        ("m", "marks", False),
        ("h", "cross", False),
        ("2", "solo", "receiver"),
        ("0", "solo", ""),
        ("b", "backward", True),
        ("l", "loop", False),
    ):
        for key in keys.split():
            page.keyboard.press(key)
        assert state(page, name) == value, keys
    page.keyboard.press("x")
    page.keyboard.press("Shift+Z")
    assert state(page, "point") == [31 * 10.0, 100.0 + 19 * 15.0]
    page.keyboard.press("d")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.keyboard.press("?")
    assert page.is_visible("#keys")
    page.keyboard.press("Escape")
    assert not page.is_visible("#keys")


def test_everything_is_reached_by_the_tab_key(show, flat):
    page = show(flat[1])
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.id"))
    controls = page.evaluate(
        "Array.from(document.querySelectorAll('button, input, select')).filter(e => e.checkVisibility()).map(e => e.id)"
    )
    assert set(controls) <= seen
    names = page.evaluate(
        "Array.from(document.querySelectorAll('input, select')).map("
        "e => e.labels.length > 0 || e.hasAttribute('aria-label'))"
    )
    assert all(names)


def test_a_link_brings_the_moment_back(show, flat):
    movie, address = flat
    page = show(address)
    for key in ("End", "ArrowLeft", "]", "+", "p", "f", "1", "z"):
        page.keyboard.press(key)
    until(page, "location.hash.includes('show=source')")
    again = show(page.evaluate("location.href"))
    for name in ("frame", "clip", "gain", "palette", "perFrame", "solo", "point"):
        assert state(again, name) == state(page, name), name
    assert state(again, "frame") == len(movie.times) - 2
    # what means nothing is passed over
    odd = show(f"{address}#t=abc&clip=&gain=1e999&palette=constructor&x=1&region=1:2&show=nothing&speed=77")
    assert (state(odd, "frame"), state(odd, "palette"), state(odd, "region")) == (movie.opening, "grey", None)


def test_a_rectangle_gives_the_command(show, flat):
    page = show(flat[1])
    box = page.locator('canvas[data-field="image"]').bounding_box()
    # x: 60 points of 10 m from 0; z: 40 points of 15 m from 100
    px, pz = box["width"] / 60, box["height"] / 40
    page.mouse.move(box["x"] + 10.5 * px, box["y"] + 8.5 * pz)
    page.mouse.down()
    page.mouse.move(box["x"] + 30 * px, box["y"] + 20 * pz)
    page.mouse.move(box["x"] + 40.5 * px, box["y"] + 28.5 * pz)
    page.mouse.up()
    ((x0, x1), (z0, z1)) = state(page, "region")
    # within two pixels of what was drawn, and half the rounding to 10 m
    assert np.allclose([x0, x1], [100, 400], atol=5 + 20 / px)
    assert np.allclose([z0, z1], [220, 520], atol=5 + 30 / pz)
    command = page.text_content("#command")
    assert command == f"subsalt reimage survey.run --region={x0:g}:{x1:g},{z0:g}:{z1:g} --run NEW"
    # a side by keyboard; beyond the model is its edge
    page.fill("#region-x1", "1e9")
    page.keyboard.press("Tab")
    assert page.text_content("#command").startswith(f"subsalt reimage survey.run --region={x0:g}:590,")
    page.click("#clear")
    assert state(page, "region") is None
    assert not page.is_visible("#command")


def test_two_slices_give_a_box(show, solid):
    page = show(solid[1])

    def draw(plane, a, b):
        box = page.locator(f'canvas[data-field="source"][data-plane="{plane}"]').bounding_box()
        page.mouse.move(box["x"] + a[0] * box["width"], box["y"] + a[1] * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + b[0] * box["width"], box["y"] + b[1] * box["height"])
        page.mouse.up()

    draw("xz", (0.25, 0.2), (0.75, 0.8))
    first = state(page, "region")
    assert first[1] == [100, 100 + 19 * 15]
    # y goes up on the map
    draw("xy", (0.3, 0.5), (0.6, 0.9))
    second = state(page, "region")
    assert second[2] == first[2]
    assert np.allclose(second[1], [100 + 0.1 * 300 - 7.5, 100 + 0.5 * 300 - 7.5], atol=10)
    text = ",".join(f"{a:g}:{b:g}" for a, b in second)
    assert page.text_content("#command") == f"subsalt reimage survey.run --region={text} --run NEW"


def test_the_value_under_the_pointer(show, flat):
    movie, address = flat
    page = show(f"{address}#t=0.35")
    frame = int(np.argmin(np.abs(movie.times - 0.35)))
    ix, iz = np.unravel_index(np.abs(movie.fields["source"].level(frame)).argmax(), movie.shape)
    box = page.locator('canvas[data-field="receiver"]').bounding_box()
    page.mouse.move(box["x"] + (ix + 0.5) * box["width"] / 60, box["y"] + (iz + 0.5) * box["height"] / 40)
    until(page, "document.querySelector('#where').textContent.startsWith('x')")
    shown = [page.text_content(f"section:nth-of-type({k}) output") for k in (1, 2, 3)]
    for text, frames in zip(shown, movie.fields.values(), strict=True):
        value = float(frames.frame(frame)[ix, iz])
        assert float(text) == pytest.approx(value, rel=6e-3, abs=1e-30)
    assert f"vp {movie.velocity[ix, iz]:.0f}"[:5] in page.text_content("#where")


@pytest.mark.parametrize("size", [(320, 700), (700, 500), (1800, 1000)])
def test_no_width_makes_the_page_scroll_sideways(show, flat, solid, size):
    for _, address in (flat, solid):
        page = show(address, size=size)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_widget_shows_the_pictures_and_the_controls_in_a_cell_of_a_notebook(show_text, flat):
    """The module of the widget, given a model that a notebook would give it; 850 pixels are a cell of JupyterLab."""
    page_text = Path(flat[1].removeprefix("file://")).read_bytes().decode("utf-8")
    held = json.dumps({"page": page_text, "height": 700}).replace("</", "<\\/")
    start = f"""
      const traits = {held};
      const model = {{ get: (name) => traits[name], on: () => 0 }};
      widget.render({{ model, el: document.getElementById("cell") }});"""
    module = player_widget.FRAME.replace("export default", "const widget =") + start
    page = show_text(
        f'<body><div id="cell" style="width: 850px"></div><script type="module">{module}</script>'
    )
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("html[data-loaded=yes]", state="attached")
    until(frame, "window.subsaltPlayer.stale === false")
    assert frame.evaluate("document.getElementById('panels').style.gridTemplateColumns").startswith(
        "repeat(3"
    )
    bottom = "(id) => document.getElementById(id).getBoundingClientRect().bottom <= window.innerHeight"
    assert [frame.evaluate(bottom, name) for name in ("panels", "play", "controls")] == [True] * 3
    assert frame.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    # no link: the frame has no address
    assert not frame.is_visible("#link")
    before = frame.evaluate("document.documentElement.dataset.frame")
    frame.click("#next")
    until(frame, f"document.documentElement.dataset.frame !== '{before}'")


def test_hostile_texts_are_shown_as_text(show, tmp_path):
    title = "<img src=x onerror=alert(1)></script><script>document.title='bad'</script>"
    write_page(ring_movie((16, 12), 3, title=title, reimage=title), tmp_path / "m.html")
    page = show((tmp_path / "m.html").as_uri() + "#region=0:50,100:150")
    assert page.text_content("#title") == f"{title}, shot 7"
    assert page.text_content("#command").startswith(title)
    assert not page.query_selector("img")


def test_a_damaged_page_says_so(browser, flat, tmp_path):
    path = tmp_path / "damaged.html"
    text = flat[1].removeprefix("file://")
    with open(text, encoding="utf-8", newline="") as f:
        held = f.read()
    at = held.index('id="source0">') + 400
    path.write_text(
        held[:at] + ("A" if held[at] != "A" else "B") + held[at + 1 :], encoding="utf-8", newline=""
    )
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#trouble", state="visible")
    assert "cannot show this page" in page.text_content("#trouble")
    page.close()


def test_the_server_shows_the_same(show, solid):
    movie, _ = solid
    server = MovieServer(movie)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        page = show(f"{server.address}&t={movie.times[2]}")
        # the token is not left in the address
        assert "token" not in page.evaluate("location.href")
        for plane, axis, index in (("xy", 2, 8), ("xz", 1, 10), ("yz", 0, 12)):
            np.testing.assert_array_equal(
                drawn(page, "image", plane), pixels(movie, "image", 2, axis=axis, index=index)
            )
        page.keyboard.press("x")
        np.testing.assert_array_equal(
            drawn(page, "source", "yz"), pixels(movie, "source", 2, axis=0, index=13)
        )
        page.keyboard.press(" ")
        until(page, "window.subsaltPlayer.drawn > 12")
        # a reload finds the token in the tab
        page.reload()
        page.wait_for_selector("html[data-loaded=yes]", state="attached")
        until(page, "window.subsaltPlayer.stale === false")
        page.close()
    finally:
        server.shutdown()
        thread.join(PATIENCE)
