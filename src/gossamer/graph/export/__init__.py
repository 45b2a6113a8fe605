"""TODO export."""
