"""TODO parse."""
