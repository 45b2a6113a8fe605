"""The graph explorer: views of the link graph, neighbours, related pages, pictures.

In comes a choice of nodes; out go parallel columns of nodes and edges with coordinates, or SVG and GEXF. Modules:

- `routes`: the page `/graph` and the API of the explorer
- `graph_cache`: the link graph in memory and its recent views (`GraphCache`)
- `views`: nodes, edges and coordinates of one view (`make_view`, `neighbours`)
- `find_nodes`: nodes by name, URL or words
- `drawing`: a view as SVG or GEXF
"""
