"""Shots, receivers, wavelets and time axes; sources and receivers between the points of a grid."""
