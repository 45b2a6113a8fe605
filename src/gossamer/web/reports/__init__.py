"""TODO reports."""
