"""Help pages: what is shown of arguments, options and defaults, and that every example can be parsed as it stands."""

import shlex

import pytest
import typer

from subsalt.cli.app import app
from subsalt.cli.help_page import examples
from subsalt.cli.old_spellings import renewed


def commands(group, path=()):
    """Yield the words and the object of every command below a group."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


EVERY = list(commands(typer.main.get_command(app)))


def test_examples_stand_one_on_each_line():
    assert examples("subsalt a", "subsalt b --c") == "Examples:\n  subsalt a\n  subsalt b --c"


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[" ".join(words) for words, _ in EVERY])
def test_every_example_is_a_command_of_today(words, command):
    lines = command.epilog.splitlines()
    assert lines[0] == "Examples:"
    for line in lines[1:]:
        assert len(line) <= 80
        typed = shlex.split(line)
        typed = typed[typed.index("subsalt") + 1 :]
        assert tuple(typed[: len(words)]) == words
        assert renewed(typed) == typed
        # the parser takes all of it; nothing is run
        command.make_context(words[-1], typed[len(words) :], resilient_parsing=False)


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[" ".join(words) for words, _ in EVERY])
def test_help_is_made_of_sentences(words, command):
    for text in [command.help, *(p.help for p in command.params)]:
        assert text, words
        assert text.strip()[0].isupper() or not text[0].isalpha(), text
        assert text.rstrip().endswith(".") or "Formats: " in text, text
        for sign in ("left out", "by default.", "; none", "when left"):
            assert sign not in text, text
    epilog = command.epilog or ""
    assert "; " not in epilog, epilog


def test_defaults_and_limits_are_written_by_the_parser(subsalt_command):
    out = " ".join(subsalt_command("play", "--help")[1].split())
    assert "Port of the server. [default: a free one; 1 to 65535]" in out
    assert "[default: source,receiver,image]" in out
    assert "Usage: subsalt play [OPTIONS] RUN Write" in out
    out = " ".join(subsalt_command("init", "--help")[1].split())
    assert "Usage: subsalt init [OPTIONS] JOB [FILE]..." in out
    assert "--debug Show the traceback of an error." in out
