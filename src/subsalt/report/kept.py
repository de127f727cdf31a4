"""What the report says of wavefields that a run has kept, and of an image that was made from those of another run."""

from __future__ import annotations

from typing import Any

from subsalt.report import words
from subsalt.report.facts import RunFacts, listed, section
from subsalt.report.html import Markup, code, join, tag


def kept(facts: RunFacts) -> Markup | None:
    """Return kept wavefields and the origin of the image; None where there is neither."""
    return join([_origin(facts), _wavefields(facts)]) or None


def _origin(facts: RunFacts) -> Markup:
    """Return where an image that was made without propagating comes from."""
    made = section(facts.run, "reimage")
    if not made:
        return join([])
    wish = ", ".join(f"{k} = {words.plain(v)}" for k, v in section(made, "wish").items() if k != "wavefields")
    shots = section(made, "shots_from")
    origins = ", ".join(
        f"{words.count(n)} from {'partial images' if what == 'partial image' else what}"
        for what, n in shots.items()
        if what and words.is_number(n)
    )
    return tag(
        "p",
        "Made without propagating from the run ",
        code(str(made.get("run", ""))),
        f" ({str(made.get('run_id', ''))[:24]})",
        f": {wish}" if wish else "",
        f". Sums of shots: {origins}." if origins else ".",
        " The bytes are those of a fresh run with this job."
        if not {"region", "times"} & set(section(made, "wish")) and "lossy" not in made
        else "",
    )


def _wavefields(facts: RunFacts) -> Markup:
    """Return what is kept, and how much of the disk it takes."""
    found = section(facts.run, "wavefields")
    shots, both = listed(found, "shots"), listed(found, "both")
    if not shots:
        return join([])
    which = (
        "both wavefields"
        if len(both) == len(shots)
        else f"both wavefields of {len(both)}, the source of the rest"
    )
    places: list[Any] = [code(str(f)) for f in listed(found, "folders")]
    return join(
        [
            tag(
                "p",
                f"Kept of {words.count(len(shots))} shots: {which}, {words.size(found.get('bytes'))} in ",
                join(places, ", "),
                ".",
            ),
            tag(
                "p",
                "They serve ",
                code("subsalt reimage"),
                " and ",
                code("subsalt play"),
                "; removing those folders by hand loses nothing else.",
                class_="soft",
            ),
        ]
    )
