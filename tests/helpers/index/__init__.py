"""Helpers for tests of the index."""
