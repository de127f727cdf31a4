"""Commands as versions up to 0.8 spelled them: they work in 0.9, with one note that gives the new spelling."""

from __future__ import annotations

import sys

from subsalt.errors import ConfigError

#: options of `submit` that were options of `migrate` together with ``--slurm``
OF_A_SCRIPT = (
    *("--nodes", "--ranks-per-node", "--memory-per-node", "--time", "--partition", "--account"),
    *("--mpi", "--mpi-library", "--sbatch", "--out", "-o", "--print"),
)


def renewed(words: list[str], quiet: bool = False) -> list[str]:
    """Return the words of a command in the spelling of today; write a note to standard error if they change.

    Parameters
    ----------
    words : list of str
        Arguments without the program's name.
    quiet : bool
        No note: another rank writes it.

    Raises
    ------
    ConfigError
        On options of a batch script (E786) or of a velocity scan (E834) that `migrate` never took alone.
    """
    place = next((i for i, word in enumerate(words) if not word.startswith("-")), len(words))
    command, rest = words[place : place + 1], words[place + 1 :]
    end = rest.index("--") if "--" in rest else len(rest)
    options, more = rest[:end], rest[end:]
    if command == ["migrate"]:
        new, old, today = _migrate(options)
    elif command == ["reimage"]:
        new, old, today = _reimage(options)
    elif command == ["lab"] and options[:1] == ["model"]:
        new, old, today = ["lab", "predict", *options[1:]], "subsalt lab model", "subsalt lab predict"
    else:
        return words
    if today and not quiet:
        print(f"note: `{old}` is now `{today}`; the old spelling works until version 0.10", file=sys.stderr)
    return [*words[:place], *new, *more] if today else words


def _migrate(options: list[str]) -> tuple[list[str], str, str]:
    """Return the words of `submit` or `vscan` that options of `migrate` meant, with the old and the new spelling."""
    scales, without = _taken(options, "--vscan")
    if "--slurm" in options:
        if scales is not None:
            raise ConfigError(
                "--vscan and --slurm do not go together",
                "write a batch script of your own that calls `subsalt vscan JOB FIRST:LAST:STEP`",
                code="E834",
            )
        words = [word for word in options if word != "--slurm"]
        return (
            ["submit", "--to", "slurm", *words],
            "subsalt migrate JOB --slurm",
            "subsalt submit JOB --to slurm",
        )
    if scales is not None:
        return (
            ["vscan", *without, scales],
            "subsalt migrate JOB --vscan SCALES",
            "subsalt vscan JOB SCALES",
        )
    names = [word.split("=")[0] for word in options]
    if "--at" in names:
        raise ConfigError(
            "--at is an option of a velocity scan",
            "subsalt vscan JOB FIRST:LAST:STEP --at PLACE",
            code="E834",
        )
    of_a_script = next((name for name in names if name in OF_A_SCRIPT), None)
    if of_a_script is not None:
        error = ConfigError(
            f"{of_a_script} is for a batch script, which `subsalt submit` writes",
            "subsalt submit JOB --to slurm --nodes N; for a run directory use --run",
            code="E786",
        )
        error.exit_code = 2
        raise error
    return [], "", ""


def _reimage(options: list[str]) -> tuple[list[str], str, str]:
    """Return the words of `reimage` with the run directory of the new image under ``--run``."""
    for name in ("--out", "-o"):
        folder, without = _taken(options, name)
        if folder is not None:
            return (
                ["reimage", *without, "--run", folder],
                f"subsalt reimage RUN {name} NEW",
                "subsalt reimage RUN --run NEW",
            )
    return [], "", ""


def _taken(options: list[str], name: str) -> tuple[str | None, list[str]]:
    """Return the value of an option, None without one, and the other words."""
    for i, word in enumerate(options):
        if word == name and i + 1 < len(options):
            return options[i + 1], options[:i] + options[i + 2 :]
        if word.startswith(f"{name}="):
            return word[len(name) + 1 :], options[:i] + options[i + 1 :]
        if len(name) == 2 and word.startswith(name) and len(word) > 2:
            return word[2:], options[:i] + options[i + 1 :]
    return None, options
