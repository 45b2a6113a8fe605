"""What is known, durably.

Comes in: visits with everything they brought (`Store.submit`), URLs to start from (`Store.add`).
Goes out: work (`Store.lease`), and what is known (`counts`, `resource`, `resources`, `errors`, `inlinks` ...).

Central names: `base.Store`, the protocol with its rules of use, and the values it answers with; `sqlite.SqliteStore`,
the back-end for one machine. Back-ends have a folder each.
"""
