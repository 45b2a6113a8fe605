"""TODO work."""
