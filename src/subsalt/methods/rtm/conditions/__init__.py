"""Imaging conditions: how source and receiver wavefield become an image.

Each condition names the fields it *accumulates* over the imaged samples of a shot, and *finishes* the sums of
all shots into an image. A new condition is one file here and one line in `CONDITIONS`.
"""

from __future__ import annotations

from subsalt.errors import ConfigError
from subsalt.methods.rtm.conditions.base import Condition, ImagingSums
from subsalt.methods.rtm.conditions.cross_correlation import CrossCorrelation
from subsalt.methods.rtm.conditions.inverse_scattering import InverseScattering
from subsalt.methods.rtm.conditions.source_normalised import SourceNormalised

CONDITIONS: dict[str, type[Condition]] = {
    "cross-correlation": CrossCorrelation,
    "source-normalised": SourceNormalised,
    "inverse-scattering": InverseScattering,
}


def condition_of(name: str) -> type[Condition]:
    """Return the condition class by its job-file name."""
    if name not in CONDITIONS:
        raise ConfigError(
            f"condition {name!r} is not one of {', '.join(CONDITIONS)}", "use source-normalised", "E130"
        )
    return CONDITIONS[name]


__all__ = ["CONDITIONS", "Condition", "ImagingSums", "condition_of"]
