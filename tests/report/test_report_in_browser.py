"""The report in a browser: nothing goes beyond the page at two widths, and a code opens its text."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from subsalt import report

pytestmark = pytest.mark.browser
TOOL = Path(__file__).resolve().parents[2] / "docs" / "screenshots.py"


@pytest.fixture(scope="module")
def tool():
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        pytest.skip("no chromium on PATH")
    spec = importlib.util.spec_from_file_location("screenshots", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_clipped_and_a_code_opens_its_text(tool, run, tmp_path):
    facts = json.loads((run / "run.json").read_text())
    facts["findings"].append(
        {"code": "W233", "level": "warning", "message": "4 traces are zero", "fix": "none"}
    )
    facts["job"]["data"]["files"] = ["a-long-folder/" * 12 + "line.sgy"]
    (run / "run.json").write_text(json.dumps(facts))
    path = report.write(run)
    with tool.chromium() as browser:
        for width in tool.WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 1000})
            assert tool.take(page, path, tmp_path / f"{width}.png") == []
            page.goto(path.as_uri())
            assert not page.is_visible("#W233")
            page.click("a[href='#W233']")
            assert page.is_visible("#W233")
