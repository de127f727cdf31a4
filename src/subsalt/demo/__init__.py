"""The demo: its earth model, and the way from model to checked image."""
