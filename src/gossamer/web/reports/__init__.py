"""Reports as HTML tables, JSON and CSV.

In comes the name of a report, a filter, a page and an order; out go its rows. Modules: `answers`, rows and summaries
with their cache (`ReportCache`); `audits`, the findings of all reports (`AuditCache`); `table_view`, rows filtered,
grouped and sorted; `table_links`, links between such views; `routes`, the tables beside their JSON and CSV.
"""
