"""TODO ranking."""
