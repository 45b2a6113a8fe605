"""Links -> importance and shape.

In: the store's links and what changed since they were last read. Out: ranks in the store, an array of them by DocID for
search, and answers about the shape of a web.

Reading order
    `arrays`     arrays in files, published whole or not at all
    `bonds`      the store's links by DocID, brought up to date from its changes
    `snapshot`   the graph that is ranked: pages ordered by reversed host and path, and their hosts
    `product`    a graph's matrix times what its nodes give
    `rank`       PageRank, HITS, scores; `load_pagerank` for search; `dominant` finds eigenvectors for it
    `aside`      HITS of a big graph, in a process of its own
    `paths`      distances: click depth, harmonic centrality
    `structure`  components, bow-tie, communities, cores, related pages, a site and its neighbours
    `shape`      a web in numbers, a site among its neighbours
    `expectation` what pages will be worth that nobody visited yet
    `ranking`    all of it at once, written back to the store
    `export`     the graph for other programs: GEXF, GraphML; `commoncrawl` in the layout of its web graphs
    `picture`    the graph for people: what to show of it; `layout` finds places, `draw` draws, `plots` are its numbers
"""
