"""SEG-Y and SU: headers, layouts, sample formats, geometry; surveys read and written."""

from subsalt._moved import in_package

__getattr__ = in_package(__name__)
