"""TODO fetch."""
