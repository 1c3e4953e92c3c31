"""Bank bookings and monthly statements."""
