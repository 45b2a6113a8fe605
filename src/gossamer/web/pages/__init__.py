"""The page view: everything a web knows of one URL, its text and its stored source.

In comes a URL; out goes an HTML page, JSON, or the stored bytes in a sandbox. Modules: `answers`, the values that the
HTML page and the API share; `routes`, `/page`, `/source` and their twins in the API.
"""
