"""Values of the options of a measurement, checked before anything is measured."""

from __future__ import annotations

import re
from collections.abc import Sequence

from subsalt.errors import ConfigError, DeviceError
from subsalt.host import usable_cores
from subsalt.kernels import cpu
from subsalt_lab.kernel_bench import SMALLEST
from subsalt_lab.kernel_models import LAYERS


def wrong(message: str, fix: str) -> ConfigError:
    """Return the error of an option that asks for something impossible: wrong use of the command line."""
    error = ConfigError(message, fix, code="E128")
    error.exit_code = 2
    return error


def words(given: Sequence[str]) -> list[str]:
    """Return the words of an option given as "a,b", or several times, each once."""
    return list(dict.fromkeys(w for text in given for w in text.replace(",", " ").split()))


def choices(
    option: str, given: Sequence[str] | None, known: Sequence[str], default: Sequence[str]
) -> list[str]:
    """Return the words of an option, all of them among `known`; `default` when it was not given.

    Raises
    ------
    ConfigError
        When one is not, or there is none.
    """
    if given is None:
        return list(default)
    chosen = words(given)
    unknown = [w for w in chosen if w not in known]
    if unknown or not chosen:
        what = f"{option} {' '.join(unknown)}" if unknown else f"{option} is empty"
        raise wrong(f"{what}: not known", f"choose from {', '.join(known)}")
    return chosen


def numbers(
    option: str, given: Sequence[str] | None, known: Sequence[int], default: Sequence[int]
) -> list[int]:
    """Return the numbers of an option, as `choices`."""
    return [int(w) for w in choices(option, given, [str(k) for k in known], [str(d) for d in default])]


def threads(given: Sequence[str] | None) -> list[int]:
    """Return numbers of threads, ascending: one and all cores this process may use when not given.

    Raises
    ------
    ConfigError
        When one is not a number from 1 to the cores: more threads than cores take turns, which measures nothing.
    """
    cores = usable_cores()
    if given is None:
        return sorted({1, cores})
    given_words = words(given)
    bad = [w for w in given_words if not w.isdecimal() or not 1 <= int(w) <= cores]
    if bad or not given_words:
        what = f"--threads {' '.join(bad)}: this process may use {cores} core{'s' * (cores != 1)}"
        raise wrong(what, f"use 1{f' to {cores}' if cores > 1 else ''}, such as --threads 1")
    return sorted({int(w) for w in given_words})


def instruction_sets(given: Sequence[str] | None) -> list[str]:
    """Return instruction sets: the one in use when not given, every one this machine has for ``all``.

    Raises
    ------
    DeviceError
        When the machine lacks one.
    """
    available = cpu.available()
    if given is None:
        return [str(cpu.describe()["isa"])]
    chosen = words(given)
    if chosen == ["all"]:
        return available
    missing = [w for w in chosen if w not in available]
    if missing or not chosen:
        raise DeviceError(
            f"--isa {' '.join(missing)}: not available here" if missing else "--isa is empty",
            f"choose from {', '.join(available)}, or all",
            code="E702",
        )
    return chosen


def points(n: int) -> int:
    """Return the points per axis.

    Raises
    ------
    ConfigError
        When two damping layers and a core do not fit.
    """
    if n < SMALLEST:
        raise wrong(
            f"-n {n}: two damping layers of {LAYERS['damping']} cells and a core need {SMALLEST} points",
            f"use {SMALLEST} or more; 256 for figures",
        )
    return n


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(option: str, text: str, least: int = 1) -> int:
    """Return bytes of a size such as ``500MB``, ``4MiB`` or ``2G``.

    Raises
    ------
    ConfigError
        When it is none, or smaller than `least`.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if match is None or (match[3] and not match[2]):
        raise wrong(f"{option} {text}: not a size", f"use a number with a unit, such as {option} 500MB")
    prefix = match[2].lower()
    nbytes = int(float(match[1]) * (_BINARY if match[3] else _UNITS)[prefix])
    if nbytes < least:
        raise wrong(f"{option} {text}: smaller than {least} bytes", f"use {least} or more")
    return nbytes
