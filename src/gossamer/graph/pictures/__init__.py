"""TODO pictures."""
