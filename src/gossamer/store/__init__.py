"""What is known, durably.

Comes in: visits with everything they brought (`Store.submit`), URLs to start from (`Store.add`).
Goes out: work (`Store.lease`), and what is known (`counts`, `resource`, `resources`, `errors`, `inlinks` ...).

Central names: `base.Store`, the protocol with its rules of use, and the values it answers with; `sqlite.SqliteStore`,
the back-end for one machine, and `postgres.PostgresStore`, the one for many. Back-ends have a folder each and hold
nothing but SQL and what it needs. What they decide alike stands here: `claims` (what a link says for visiting its
target), `visiting` (what a batch of visits becomes), `comparing` (what changed), `revisiting` (when to look again),
`asked` (rounds), `ledger` (counters), `memory` (what is known), `rows` (values from rows).
"""
