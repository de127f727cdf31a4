"""Reverse time migration: from wavefields to images by an imaging condition, and the filters of an image."""
