"""Query -> answer: the query language, ranking in two passes, snippets, suggestions.

In: the text that a person typed, an `IndexReader` and a store. Out: an `Answer` with its `Hit`s. In reading order:

    service   Searcher: from the typed text to the answer
    query     parse_query: text -> the query that index back-ends run
    passes    TwoPassSearch: first pass in the index, second pass over the best matches
    rank      the parts of a score in the second pass
    weights   the weight of each part
    window    find_windows: where in a page the words of the query are closest together
    snippet   render_snippet: that window as HTML
    suggest   corrections of misspelt words, completions of unfinished ones
"""
