"""The earth model: its grid and frame, volumes by planes, parameters in memory or in their files."""
