"""What the index and the graph follow: changes since a version, and the ranks they give back.

In: a version or cursor, and computed ranks. Out: batches of changes (`store/follow/`), in short reads.

changes       changed and forgotten documents, anchor texts, word ids
link_changes  links of changed pages as columns
graph         hosts, URLs and seeds of resources; ranks, for readers
rank_writer   replaces all ranks, and gives queued pages new priorities
"""
