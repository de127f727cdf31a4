"""Pictures: sections of images and models, the map of a survey on its model, gathers.

All are PNG files, and the same input gives the same bytes.
"""

from subsalt.view.acquisition import survey_map
from subsalt.view.gate import Flag, gate_map
from subsalt.view.pairs import compare
from subsalt.view.placement import fold
from subsalt.view.reading import picture
from subsalt.view.records import gather, gathers
from subsalt.view.slices import model, sections

__all__ = [
    "Flag",
    "compare",
    "fold",
    "gate_map",
    "gather",
    "gathers",
    "model",
    "picture",
    "sections",
    "survey_map",
]
