"""Pictures of the link graph: a graph comes in, an SVG or PNG goes out. They need matplotlib, an extra.

Central names
    `selection`  `Picture`, `select_picture`: the nodes, links, groups and labels to show
    `labels`     titles as labels; `communities` names communities by them
    `layout`     node positions
    `draw`       `draw_graph`: the graph with labels and a legend
    `plots`      `draw_degrees`, `draw_depths`: plots of link counts and click depths
    `sheet`      `Sheet`: the drawing area, text and fonts
    `palette`    a colour for each community
"""
