class ConfigError(Exception):
    """One or more problems with a file, one per line."""
