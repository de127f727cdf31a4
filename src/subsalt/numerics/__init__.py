"""Stencils, absorbing layers, mathematics in a fixed order, and arrays computed in parts side by side."""
