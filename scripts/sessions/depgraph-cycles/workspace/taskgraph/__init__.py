"""Order of tasks."""
