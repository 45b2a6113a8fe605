"""Helpers for tests of the web app."""
