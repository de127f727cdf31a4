"""What is written for others to read holds no password, key or token, and is left readable otherwise."""

from __future__ import annotations

import pytest

from subsalt.cli.secrets import without_secrets, words_without_secrets


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("s3://bob:SECRET@host/x", "s3://***@host/x"),
        ("https://SECRET@host:9000/a b", "https://***@host:9000/a b"),
        ("at https://h/a.sgy?X-Amz-Signature=SECRET&k=SECRET (line 3)", "at https://h/a.sgy?*** (line 3)"),
        ("http://127.0.0.1:8000/#token=SECRET", "http://127.0.0.1:8000/#***"),
        ("--api-key=SECRET --shots 3", "--api-key=*** --shots 3"),
        ("--token SECRET", "--token ***"),
        ("AWS_SECRET_ACCESS_KEY=SECRET", "AWS_SECRET_ACCESS_KEY=***"),
        ("{'token': 'SECRET SECRET', 'x': 1}", "{'token': ***, 'x': 1}"),
        ('password = "SECRET"', "password = ***"),
        ("Authorization: Bearer SECRET.SECRET", "Authorization: Bearer ***"),
        ("account_key: SECRET", "account_key: ***"),
    ],
)
def test_secrets_are_hidden(text: str, left: str) -> None:
    assert without_secrets(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'checkpoint'",
        'File "/home/bob/survey/job.toml", line 12, in tokenise',
        "tokens_read 5, keyboard = 3, key = 'data.files'",
        "https://host/line.sgy",
        "[signal] passband = 5",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_the_word_after_an_option_of_a_secret_is_one() -> None:
    words = ["migrate", "job.toml", "--session-token", "SECRET", "--run", "s3://me:SECRET@store/run"]
    assert words_without_secrets(words) == [
        *("migrate", "job.toml", "--session-token", "***", "--run", "s3://***@store/run"),
    ]
