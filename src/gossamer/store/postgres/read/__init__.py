"""What readers ask: every answer is a frozen value, and long answers come in short reads.

In: ids, limits, questions of reports. Out: the values of `store/values.py`, as lists or streams.

resources  counts, hosts, resources, links, visits, texts, sources
documents  what a search result shows
recent     the latest visits
freshness  paces, ages and due visits
history    changes that visits found
export     whole tables, for exports
reports    answers to the questions of reports (reports.sql)
spool      long answers that the server keeps
"""
