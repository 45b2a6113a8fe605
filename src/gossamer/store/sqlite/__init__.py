"""The SQLite back-end: one directory is one web, without daemon or account.

In: the calls of `store/protocol.py`. Out: rows in web.db (schema.sql), and frozen values for readers. The modules
mirror those of `store/postgres/`. Code without SQL is shared by both back-ends and lies in `store/`.

store        `open_sqlite_store`: a `SqlStore` on the SQL of this package
database     `Database`, `Transaction`: the connection, locks and faults of the file
opening      `open_database`: creates and migrates the file
columns      how SQLite writes the columns of `resources`
bulk_insert  `BulkInsert`: many rows by few statements
copy         a web as source or target of `gossamer copy`
work/        what crawlers write
read/        what readers ask
follow/      what index and graph follow
"""

from gossamer.store.sqlite.store import open_sqlite_store

__all__ = ["open_sqlite_store"]
