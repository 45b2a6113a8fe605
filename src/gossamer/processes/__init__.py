"""TODO processes."""
