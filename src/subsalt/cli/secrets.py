"""Texts without secrets: passwords, keys and tokens in options, variables and addresses are removed."""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "***"

#: part of a name that says that its value is secret
_KEY = r"(?:api|access|account|private|sas|secret)[_-]?key"
_NAME = rf"(?:pass(?:word|wd|phrase)?|secret|token|credential|signature|{_KEY})s?"
_NAMED = rf"[\w.-]*{_NAME}(?:[_-][\w-]+)?"
#: user:password@ and token@ of an address
_USER = re.compile(r"(?<=://)[^/\s@'\"]+@")
#: the parameters of an address: signed ones hold their key there
_QUERY = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s?#'\"<>]*)([?#])[^\s'\"<>]+", re.IGNORECASE)
#: name = value, name: value, 'name': 'value', --name value
_ASSIGNED = re.compile(
    rf"""((?:--)?\b{_NAMED}\b['"]?\s*[=:]\s*)('[^']*'|"[^"]*"|[^\s,;)}}\]'"]+)""", re.IGNORECASE
)
_OPTION = re.compile(rf"(--?{_NAMED}\s+)('[^']*'|\"[^\"]*\"|[^\s'\"]+)", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE)
_OPTION_NAME = re.compile(rf"--?{_NAMED}", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """Return a text with passwords, keys and tokens replaced by asterisks."""
    text = _USER.sub(f"{HIDDEN}@", text)
    text = _QUERY.sub(rf"\1\2{HIDDEN}", text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    text = _ASSIGNED.sub(rf"\1{HIDDEN}", text)
    return _OPTION.sub(rf"\1{HIDDEN}", text)


def words_without_secrets(words: Sequence[str]) -> list[str]:
    """Return the words of a command line without secrets: the value of an option with a secret name is one."""
    out: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        out.append(HIDDEN if _OPTION_NAME.fullmatch(before) else without_secrets(word))
    return out
