"""Stock keeping for a small warehouse."""
