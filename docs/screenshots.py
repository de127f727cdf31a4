"""Pictures of pages in Chromium at two widths, and what is wrong with their layout.

``python docs/screenshots.py FOLDER PAGE...`` writes ``NAME-1400.png`` and ``NAME-800.png`` of each HTML page into
FOLDER and prints what goes beyond a page, and pictures without an alternative text. Details are opened, so that
everything is seen. ``python docs/screenshots.py --player`` makes ``docs/playback.png`` from ``docs/demo-shot.html``.
It needs playwright (in the extra ``dev``) and ``chromium`` on PATH.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
WIDTHS = (1400, 800)
#: moment, planes and box that the picture of the player shows
MOMENT = "#t=0.6&clip=98&x=765&y=540&z=630&region=400:1000,300:750,350:800"
#: elements that end beyond the window and lie in nothing that scrolls, and pictures without a text
FAULTS = """() => {
  const wide = document.documentElement.clientWidth, faults = [];
  const scrolls = (e) => {
    for (let p = e; p && p !== document.body; p = p.parentElement) {
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(p).overflowX)) return true;
    }
    return false;
  };
  const whole = document.documentElement.scrollWidth;
  if (whole > wide + 1) faults.push(`the page is ${whole} wide`);
  for (const e of document.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > wide + 1 && getComputedStyle(e).visibility !== "hidden" && !scrolls(e)) {
      faults.push(`${e.tagName} ends at ${Math.round(box.right)}: ${e.textContent.trim().slice(0, 40)}`);
    }
  }
  for (const one of document.images) if (!one.alt) faults.push("a picture has no alternative text");
  return faults;
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    """Give a headless browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = player.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def take(page: Any, path: Path, picture: Path) -> list[str]:
    """Open a page with all its details, write its picture, and return the faults of its layout."""
    page.goto(path.resolve().as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_for_timeout(500)
    page.screenshot(path=picture, full_page=True)
    faults: list[str] = page.evaluate(FAULTS)
    return faults


def player_picture(browser: Any) -> None:
    """Write the picture of the player that its page shows."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto((DOCS / "demo-shot.html").as_uri() + MOMENT)
    page.wait_for_selector("html[data-loaded=yes]", state="attached")
    page.wait_for_timeout(500)
    page.screenshot(path=DOCS / "playback.png")


def main() -> int:
    """Take the pictures; return 1 where a layout has faults."""
    words = sys.argv[1:]
    wrong = 0
    with chromium() as browser:
        if words == ["--player"]:
            player_picture(browser)
            return 0
        folder = Path(words[0])
        folder.mkdir(parents=True, exist_ok=True)
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 1000})
            for path in map(Path, words[1:]):
                name = "_".join([*path.resolve().parts[-3:-1], path.stem])
                for fault in take(page, path, folder / f"{name}-{width}.png"):
                    print(f"{path} at {width}: {fault}")
                    wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
