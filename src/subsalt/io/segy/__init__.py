"""SEG-Y and SU: headers, layouts, sample formats, geometry; surveys read and written."""
