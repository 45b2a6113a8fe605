"""Search and words: hits, filters, completions, feeds and the word table.

In comes a query; out go hits as HTML, JSON or Atom. Modules:

- `routes`: `/`, `/search`, `/word` and their twins in the API
- `question`: the parameters of a search request (`SearchQuestion`)
- `answers`: search, completions and words, as values
- `facets`: filters, and how many pages each would leave
- `search_cache`: one thread for all searches, and their recent answers (`SearchQueue`, `CachedAnswer`)
- `fast_path`: plain searches of the API, answered before FastAPI (`SearchFastPath`)
- `feeds`: OpenSearch description, suggestions, Atom
- `marks`: query words marked in the text of a page
"""
