"""Ranks of pages and hosts: a graph comes in, ranks go to the store and a score array to search.

Central names
    `rank_web`            computes all ranks and writes them; `pages_near`: PageRank from chosen pages
    `pagerank`            `pagerank`, `score`; `load_pagerank`, `save_pagerank`: the score array that search reads
    `hits`                hubs and authorities
    `hits_process`        HITS of a big graph in a child process
    `eigenvector`         the dominant eigenvector, by Lanczos' method; HITS uses it
    `distances`           click depth, harmonic centrality
    `expected_backlinks`  estimated importance of unvisited pages, for crawls in the order `best`
    `matrix`              `BlockMatrix`: fast products with a graph's matrix
"""
