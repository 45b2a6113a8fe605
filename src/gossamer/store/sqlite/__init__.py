"""The SQLite back-end: one directory is one web, no daemon, no account.

Central names: `SqliteStore` (store.py, the protocol's methods), `Database` and `Transaction` (database.py, the file),
`settle` (admission.py, from links to resources), `recall` (digests.py, which of them are known), `Submission`
(submit.py, a batch written). schema.sql says what is stored.
"""

from gossamer.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
