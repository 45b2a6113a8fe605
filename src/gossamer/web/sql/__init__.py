"""SQL in the browser: one reading statement at a time, in a process with limited time and memory.

In: a statement and the token. Out: its rows as a table, JSON or CSV; or why it was refused. SQLite answers from a
read-only connection, PostgreSQL as a role that can only read. Central names: `runner.StatementRunner`,
`statement_process`.
"""
