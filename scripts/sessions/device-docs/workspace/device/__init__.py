"""Driver of the heating controller."""
