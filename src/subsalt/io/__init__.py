"""Every byte that enters or leaves: SEG-Y, SU, RSF, NPZ, VTI, netCDF and Zarr files, and how files are
published.
"""
