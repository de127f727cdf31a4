"""Write docs/reference/errors.md from the codes in messages.toml; with --check, only say whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from subsalt.error_texts import entries

PAGE = Path(__file__).with_name("reference") / "errors.md"
HEAD = """# Errors and warnings

Made by `docs/make_errors.py` from `src/subsalt/messages.toml` and the lab's; `subsalt explain CODE` prints the
same text. Errors (E) stop a command, warnings (W) never do unless `--strict` is given.
"""
#: what the first digit of a code stands for
SUBJECTS = {
    "0": "The program itself",
    "1": "Job file, options, missing files",
    "2": "SEG-Y and other files",
    "3": "Geometry and survey",
    "4": "Models",
    "5": "Stability, dispersion, medium",
    "6": "Memory, disk, damaged files",
    "7": "Devices, time migration, steps on traces",
    "8": "State of a run",
    "9": "The performance lab",
}


def page() -> str:
    """Return the text of the page."""
    parts, subject = [HEAD], ""
    for code, entry in entries().items():
        digit = code[1]
        if digit != subject:
            subject = digit
            parts.append(
                f"## {digit}xx: {SUBJECTS[digit]}\n\n| code | what | meaning | cure |\n|---|---|---|---|"
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
