"""What index and graph follow in web.db, and the ranks they write back.

In: the version that a follower has reached. Out: everything that changed since.

changes       documents, anchor texts and WordIDs for the index
link_changes  links as columns for the graph
graph         hosts of resources, and ranks to read
rank_writer   ranks to write
"""
