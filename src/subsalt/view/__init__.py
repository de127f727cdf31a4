"""Pictures: sections of images and models, the map of a survey on its model, gathers.

All are PNG files, and the same input gives the same bytes.
"""

from subsalt.view.acquisition import survey_map
from subsalt.view.comparison import compare
from subsalt.view.flatness import scan_map, scan_panels
from subsalt.view.gate import Flag, gate_map
from subsalt.view.image_gathers import ImageGather, image_gathers
from subsalt.view.placing import fold
from subsalt.view.reading import gather_file, picture, time_file
from subsalt.view.records import gather, gathers
from subsalt.view.signal import Stage, signal_steps
from subsalt.view.slices import model, sections
from subsalt.view.time_sections import time_sections

__all__ = [
    "Flag",
    "ImageGather",
    "Stage",
    "compare",
    "fold",
    "gate_map",
    "gather",
    "gather_file",
    "gathers",
    "image_gathers",
    "model",
    "picture",
    "scan_map",
    "scan_panels",
    "sections",
    "signal_steps",
    "survey_map",
    "time_file",
    "time_sections",
]
