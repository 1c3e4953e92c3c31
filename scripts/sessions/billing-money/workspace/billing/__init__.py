"""Invoices out of time sheets and price lists."""
