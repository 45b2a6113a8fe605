"""TODO urls."""
