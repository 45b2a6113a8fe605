"""Values that the store hands to its followers, index and graph.

changes  `Changes`: documents that changed since a version, with SQL that both back-ends share
graph    `LinkChanges`, `Ranks`: links as columns, and ranks
"""
