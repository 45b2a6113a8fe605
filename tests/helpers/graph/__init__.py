"""Helpers for tests of the link graph and its reports."""
