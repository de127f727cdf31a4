"""Runs of Kirchhoff time migration: blocks, restart points, assembling of images, outputs."""
