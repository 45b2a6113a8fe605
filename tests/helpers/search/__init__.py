"""Helpers for tests of search."""
