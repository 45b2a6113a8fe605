"""Helpers for tests of the fetcher."""
