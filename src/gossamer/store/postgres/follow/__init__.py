"""TODO follow."""
