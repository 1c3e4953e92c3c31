"""Expressions for the tariff editor."""
