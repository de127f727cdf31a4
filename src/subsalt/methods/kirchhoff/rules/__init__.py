"""Rules of `subsalt check` for a time migration, by subject."""
