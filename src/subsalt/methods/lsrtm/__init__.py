"""Least-squares reverse time migration: rounds of Born modelling and migration of the same shots."""
