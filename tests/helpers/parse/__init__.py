"""Helpers for tests of the parser."""
