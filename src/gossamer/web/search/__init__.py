"""Search and words: hits, filters, completions, feeds and the word table.

In comes a query; out go hits as HTML, JSON or Atom. Modules:

- `routes`: `/`, `/search`, `/word` and their twins in the API
- `question`: the parameters of a search request (`SearchQuestion`)
- `answers`: search, completions and words, as values
- `facets`: filters, and how many pages each would leave
- `search_cache`: recent answers in front of the search process (`SearchQueue`, `CachedAnswer`)
- `search_client`: asks the search process, with a deadline and a bounded queue (`SearchClient`)
- `search_process`: the process that opens the index; `search_session` is its open web
- `packed_answer`: answers between the two
- `fast_path`: plain searches of the API, answered before FastAPI (`SearchFastPath`)
- `feeds`: OpenSearch description, suggestions, Atom
- `marks`: query words marked in the text of a page
"""
