"""Words -> answers: the query language, ranking in two passes, snippets, suggestions.

What comes in is what a person typed; what goes out is an `Answer` with its `Hit`s. Read in this order:
`service.Searcher` (the way of a question), `query` (text -> a tree), `passes` (match, and look again at the best) with
`rank` and `weights`, `stretch` and `snippet` (why a page was found), `suggest`.
"""
