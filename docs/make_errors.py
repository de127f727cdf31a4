"""Write docs/reference/errors.md from the codes in messages.toml; with --check, only say whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from subsalt.error_texts import entries

PAGE = Path(__file__).with_name("reference") / "errors.md"
#: the filter is drawn by docs/site/static/codes.js; other readers of the page do not see it
HEAD = """# Errors and warnings

Every error and warning has a code. `subsalt explain E531` prints the row of a code. Errors (E) stop a command. Warnings
(W) do not, unless `--strict` is given. The first digit of a code is its subject:

{subjects}
The name of this page with a code, such as `errors.html#E531`, is a link to its row.

<div id="code-filter"></div>
"""
#: what the first digit of a code stands for
SUBJECTS = {
    "0": "The program itself",
    "1": "Job file, options, missing files",
    "2": "SEG-Y and other files",
    "3": "Geometry and survey",
    "4": "Models",
    "5": "Stability, dispersion, anisotropy",
    "6": "Memory, disk, damaged files",
    "7": "Processors, MPI, time migration, trace processing",
    "8": "Run directories and results",
    "9": "Performance lab, GPUs",
}


#: what to know about the codes of a subject, before their rows
INTRODUCTIONS = {
    "0": "Errors of the program, and commands that it does not understand.",
    "1": "What the job file and the command line say, before any data are read. `subsalt explain KEY` explains a key.",
    "2": "Files that cannot be read as what they claim to be, header values that contradict each other, "
    "and samples that are not numbers. Most cures are a key of [`[data.fix]`](job.md#header-bytes-and-corrections); "
    "[formats](formats.md) lists what is read.",
    "3": "Positions, offsets and times of the traces, and their position on the model. Compare the map of "
    "`subsalt check` and the [first breaks](../howto/first-breaks.md).",
    "4": "Units, axes, ranges and gaps of velocity and anisotropy. [Model](job.md#model-the-earth) describes "
    "the forms that a model may have.",
    "5": "The numerical scheme: time step, points per wavelength, absorbing layer, and parameters for which the "
    "equations are unstable. [Theory](../theory/rtm.md) explains the limits.",
    "6": "Memory and disk space that the job needs, and files that are damaged. `subsalt plan` shows the sizes before "
    "a run; see [memory](../howto/memory.md).",
    "7": "Processors and MPI (70x, 71x, 78x), [time migration](kirchhoff.md) (72x to 76x), topography (75x), "
    "[time slices](formats.md#dense-traces-in-time-slices) (77x), and [trace processing](signal.md) (79x).",
    "8": "Run directories and what is made of them: resuming, images, movies, wavelets. "
    "See [restart](../howto/restart.md).",
    "9": "The [laboratory](lab.md) (90x to 97x), and GPUs (98x and 99x).",
}


def contents() -> str:
    """Return links to the subjects."""
    lines = ["| codes | subject |", "|---|---|"]
    for digit, subject in SUBJECTS.items():
        slug = "".join(c for c in f"{digit}xx {subject}".lower() if c.isalnum() or c in " -").replace(
            " ", "-"
        )
        lines.append(f"| [{digit}xx](#{slug}) | {subject} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the text of the page."""
    parts, subject = [HEAD.format(subjects=contents())], ""
    for code, entry in entries().items():
        digit = code[1]
        if digit != subject:
            subject = digit
            parts.append(
                f"## {digit}xx: {SUBJECTS[digit]}\n\n{INTRODUCTIONS[digit]}\n\n"
                "| code | what | meaning | cure |\n|---|---|---|---|"
            )
        # an anchor for each code: links are errors.md#E531
        cells = (f"[{code}]{{#{code}}}", entry.title, entry.meaning, entry.cure)
        parts.append("| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |")
    return "\n".join(parts).replace("|\n## ", "|\n\n## ") + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else f"{PAGE.name} is out of date"
        )
    PAGE.write_text(text, encoding="utf-8")
