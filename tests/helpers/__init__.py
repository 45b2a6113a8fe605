"""Code that tests share, by the package it helps to test."""
