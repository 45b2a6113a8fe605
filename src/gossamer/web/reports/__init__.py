"""Reports as HTML tables, JSON and CSV.

In comes the name of a report, a page and an order; out go its rows. Modules: `answers`, rows and summaries with their
cache (`ReportCache`); `routes`, the tables beside their JSON and CSV.
"""
