"""The store: everything that Gossamer knows about a web, kept durably.

In: URLs to start from (`Store.add`) and finished visits with everything they brought (`Store.submit`). Out: work for
crawlers (`Store.lease`), values for readers (`counts`, `resource`, `errors` ...), and changes for index and graph
(`changes`, `link_changes`).

protocol     `Store`: the calls, their order, and what is atomic; smaller protocols for each kind of caller
sql_store    `SqlStore`: the store on any SQL back-end
sql_modules  the SQL modules that a back-end gives to it
columns      the columns of `resources`, declared once
migrations   versions of the tables, and the way to the newest
values       the values that the calls take and return
rows         database rows into those values
content      packed texts and sources of pages
copy         a whole web from one location to another
work/        what crawlers write: decisions without SQL
read/        what readers ask: the questions of reports
follow/      what index and graph follow
sqlite/      SQL for one directory on one machine
postgres/    SQL for one schema of a database and many machines

The back-ends have the same modules. They hold SQL; decisions that both share lie in this package.
"""
