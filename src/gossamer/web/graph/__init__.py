"""TODO graph."""
