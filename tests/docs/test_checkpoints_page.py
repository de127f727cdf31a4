"""The tables and the picture of docs/theory/checkpoints.md are those of the schedules."""

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def maker():
    spec = importlib.util.spec_from_file_location("make_schedules", DOCS / "make_schedules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_and_picture_are_made_from_the_code():
    made = maker()
    text = (DOCS / "theory" / "checkpoints.md").read_text(encoding="utf-8")
    assert made.page(text) == text, "run python docs/make_schedules.py"
    assert (DOCS / "schedules.svg").read_text(encoding="utf-8") == made.picture()


def test_a_changed_number_would_be_noticed():
    made = maker()
    text = (DOCS / "theory" / "checkpoints.md").read_text(encoding="utf-8")
    assert "| 2147 |" in text
    assert made.page(text.replace("2147", "2148")) == text


def test_the_python_of_the_page_runs(capsys):
    text = (DOCS / "theory" / "checkpoints.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(code, "checkpoints.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Counts(source_steps=" in printed  # of the schedule
    assert "4.0 " in printed  # of the store of snapshots: the record that was put last
