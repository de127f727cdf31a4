"""The page of parameters says what the sections of the job say, and every code it names exists."""

import importlib.util
import re
import tomllib
from pathlib import Path

from subsalt import error_texts
from subsalt.methods.kirchhoff.sections import KirchhoffSection
from subsalt.methods.rtm.job import Job

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "kirchhoff.md").read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_sections():
    spec = importlib.util.spec_from_file_location("make_parameters", DOCS / "make_parameters.py")
    make_parameters = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_parameters)
    assert make_parameters.page(PAGE) == PAGE, "run: python docs/make_parameters.py"
    table_keys = [
        key for section, keys in make_parameters.TABLES if section is KirchhoffSection for key in keys
    ]
    assert sorted(table_keys) == sorted(KirchhoffSection.model_fields)


def test_codes_and_the_smallest_job_are_real():
    assert all(error_texts.lookup(code) for code in re.findall(r"\b[EW]7\d\d\b", PAGE))
    (smallest,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    assert Job.from_dict(tomllib.loads(smallest)).method == "kirchhoff"
