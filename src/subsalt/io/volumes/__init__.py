"""Volumes and images: SEG-Y, NPZ, RSF, VTI, netCDF and Zarr; planes read by position."""
