"""Helpers for tests of the store."""
