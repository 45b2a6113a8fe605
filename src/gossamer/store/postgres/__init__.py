"""The PostgreSQL back-end: one schema of a database is one web, shared by as many machines as like.

Central names: `PostgresStore` (store.py, the writing methods of the protocol; reading.py, the reading ones), `Database`
and `Transaction` (database.py, the connection, and how writers share a web), `settle` (admission.py, from links to
resources), `Submission` (submit.py, a batch written). schema.sql says what is stored. What does not speak SQL is shared
with the SQLite back-end and stands one room up: `claims`, `visiting`, `comparing`, `revisiting`, `asked`, `rows`.
"""

from gossamer.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
