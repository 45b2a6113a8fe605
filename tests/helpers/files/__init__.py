"""Helpers for tests of imports and exports."""
