"""What readers ask of web.db: single reads, and streams of short reads.

In: ids, digests, cursors. Out: frozen values of `store/values.py`.

resources  hosts, resources, links, visits, contents
documents  pages of search results
recent     latest visits
export     whole tables
history    changes that visits found
freshness  ages and due visits
reports    `ask`: the questions of reports, with SQL in reports.sql
"""
