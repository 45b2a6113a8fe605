"""Helpers for tests of the documentation."""
