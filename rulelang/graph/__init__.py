"""When it happens."""
