"""Helpers for tests of the command line."""
