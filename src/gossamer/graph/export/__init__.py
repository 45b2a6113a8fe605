"""The link graph as files for other programs: a graph and its ranks come in, files go out.

Central names
    `xml_formats`   `write_gexf` (Gephi), `write_graphml` (yEd, igraph, networkx), `ExportGraph`
    `common_crawl`  `write_common_crawl`: the layout of Common Crawl's web graphs
"""
