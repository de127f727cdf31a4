"""From wavefields to images: conditions, reverse time migration, filters."""
