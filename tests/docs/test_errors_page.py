import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_errors_page_says_what_messages_toml_says():
    spec = importlib.util.spec_from_file_location("make_errors", DOCS / "make_errors.py")
    make_errors = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_errors)
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    assert page == make_errors.page(), "run: python docs/make_errors.py"
