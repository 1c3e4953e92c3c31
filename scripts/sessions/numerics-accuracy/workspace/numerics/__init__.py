"""Numerical routines in pure Python."""
