"""Pictures: sections of images and models, the map of a survey on its model, gathers.

All are PNG files, and the same input gives the same bytes.
"""

from subsalt.view.acquisition import fold, survey_map
from subsalt.view.slices import model, sections

__all__ = ["fold", "model", "sections", "survey_map"]
