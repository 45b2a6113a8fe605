"""TODO basics."""
