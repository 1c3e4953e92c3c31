"""Bus connections."""
