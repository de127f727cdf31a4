"""The pages on the job file and the commands say what the program does."""

import re
import tomllib
from pathlib import Path

import pytest

from subsalt.cli import app
from subsalt.cli_main import EXIT_CODES
from subsalt.job import Job
from subsalt.job_errors import model_at
from subsalt.job_text import repr_default

DOCS = Path(__file__).resolve().parents[2] / "docs"
JOB = (DOCS / "job.md").read_text(encoding="utf-8")
COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")

TABLES = [[name] for name in Job.model_fields if name != "title"] + [
    ["data", "fix"],
    ["data", "mute"],
    ["data", "frame"],
    ["data", "geometry"],
    ["acquisition", "shots"],
    ["model", "vp"],
]


def default_is_made(field):
    """Return whether a key has no default to print: it is required, or a table of its own."""
    return field.is_required() or field.default_factory is not None


@pytest.mark.parametrize("path", TABLES, ids=".".join)
def test_every_key_stands_on_the_page_with_its_default(path):
    model = model_at(Job, path)
    assert model is not None
    for key, field in model.model_fields.items():
        default = "" if field.default_factory else "required"
        if not default_is_made(field):
            default = f"`{repr_default(field.default)}`"
        row = f"| `{key}` | {default} | {field.description.replace('|', '/')} |"
        assert row in JOB, row


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", JOB, re.S))
def test_examples_are_toml(block):
    # a block that shows alternatives repeats its keys: each line stands alone
    try:
        tomllib.loads(block)
    except tomllib.TOMLDecodeError:
        for line in block.splitlines():
            tomllib.loads(line)


def test_the_smallest_job_is_valid():
    block = re.findall(r"```toml\n(.*?)```", JOB, re.S)[0]
    assert Job.from_dict(tomllib.loads(block)).data.files == ["shots/*.sgy"]


def test_every_exit_code_and_command_is_named():
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in COMMANDS
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert re.search(rf"^\| `{name}\b", COMMANDS, re.M), name
