"""A real OpenSearch cluster for the tests."""
