"""Shift plans."""
