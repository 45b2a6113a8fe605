"""The PostgreSQL back-end: one schema of a database is one web, shared by any number of machines.

In: the calls of `store/protocol.py`. Out: rows in the tables of schema.sql, and frozen values for readers. The modules
mirror those of `store/sqlite/`. Code without SQL is shared by both back-ends and lies in `store/`.

store      `open_postgres_store`: a `SqlStore` on the SQL of this package
database   `Database`, `Transaction`: the connection, retries, and how writers share a web
opening    `open_database`: creates and migrates the schema
location   `PostgresLocation`: a parsed `postgresql://` URL
columns    how PostgreSQL writes the columns of `resources`
bulk_copy  rows into tables by COPY
copy       a web as source or target of `gossamer copy`
work/      what crawlers write
read/      what readers ask
follow/    what index and graph follow
"""

from gossamer.store.postgres.store import open_postgres_store

__all__ = ["open_postgres_store"]
