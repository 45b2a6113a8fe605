"""Words -> documents: the index, derived from the store and able to catch up with it at any time.

Read in this order: `base` (what an index can do), `analyze` (text -> terms, for pages and for questions alike),
`documents` (pages -> documents), `build` (catch up with the store), `tantivy` (the index in a directory), `words` and
`dictionary` (where words stand).
"""
