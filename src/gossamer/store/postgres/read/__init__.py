"""TODO read."""
