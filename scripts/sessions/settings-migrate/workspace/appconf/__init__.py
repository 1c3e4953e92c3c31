"""Settings of the appliance."""
