"""Write the tables of docs/reference/kirchhoff.md from the sections of the job; with --check, only compare."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from subsalt.job.text import repr_default
from subsalt.job.units import Section
from subsalt.methods.kirchhoff.sections import (
    FloatingDatumSection,
    KirchhoffOutputSection,
    KirchhoffParallelSection,
    KirchhoffSection,
)

PAGE = Path(__file__).with_name("reference") / "kirchhoff.md"
HEAD = "| key | default | meaning |\n|---|---|---|\n"

#: tables of the page in their order: section, and its keys
TABLES: tuple[tuple[type[Section], tuple[str, ...]], ...] = (
    (KirchhoffSection, ("inline", "crossline", "corners", "origin", "azimuth", "spacing", "time")),
    (KirchhoffSection, ("gathers", "offset", "sectors", "first_azimuth", "weighting")),
    (
        KirchhoffSection,
        (
            *("amplitude", "aperture", "aperture_taper", "dip", "dip_taper"),
            *("antialias", "antialias_spacing", "bands", "band_choice", "stretch_mute", "stretch_taper"),
            *("interpolation", "traveltime", "floating_datum", "block_moveout"),
        ),
    ),
    (FloatingDatumSection, tuple(FloatingDatumSection.model_fields)),
    (KirchhoffSection, ("trace_block", "memory", "save_every")),
    (KirchhoffParallelSection, tuple(KirchhoffParallelSection.model_fields)),
    (KirchhoffOutputSection, tuple(KirchhoffOutputSection.model_fields)),
)


def rows(section: type[Section], keys: tuple[str, ...]) -> str:
    """Return the rows of a table: key, default, meaning with its unit."""
    out = []
    for key in keys:
        field = section.model_fields[key]
        default = ""
        if not field.is_required():
            default = f"`{repr_default(field.default) if field.default_factory is None else '{first = 0.0}'}`"
        out.append(f"| `{key}` | {default} | {field.description} |")
    return "\n".join(out) + "\n"


def page(text: str) -> str:
    """Return the page with its tables renewed."""
    parts = re.split(re.escape(HEAD) + r"(?:(?:\|.*|@\w+@)\n)*", text)
    assert len(parts) == len(TABLES) + 1
    out = parts[0]
    for (section, keys), after in zip(TABLES, parts[1:], strict=True):
        out += HEAD + rows(section, keys) + after
    return out


def main() -> None:
    """Write the page, or say whether it is up to date."""
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv[1:]:
        sys.exit(0 if old == new else f"{PAGE} is old: run python docs/make_parameters.py")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
