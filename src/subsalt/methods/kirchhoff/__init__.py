"""Kirchhoff prestack time migration: image grid, velocity, preparation of traces, and the sum over them."""
