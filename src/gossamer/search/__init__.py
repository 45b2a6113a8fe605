"""Query -> answer: the query language, ranking in two passes, snippets, suggestions.

In: the text that a person typed, an `IndexReader` and a store. Out: an `Answer` with its `Hit`s. In reading order:

    service        Searcher: from the typed text to the answer
    query          parse_query: text -> the query that index back-ends run
    passes         TwoPassSearch: first pass in the index, second pass over the best matches
    second_pass    run_second_pass: scores and windows, by the kernel or by `rank` and `window`
    rank           the parts of a score in the second pass
    weights        the weight of each part
    window         find_windows: where in a page the words of the query are closest together
    page_snippets  SnippetRenderer: the snippets of an answer, by the kernel or by `snippet`
    snippet        render_snippet: a window as HTML
    suggest        corrections of misspelt words, completions of unfinished ones
"""
