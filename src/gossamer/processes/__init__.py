"""Child processes of Gossamer: how they start, talk, are limited and exit.

In: the name of a module of ours, its arguments, its environment. Out: a process, its messages, the reason it exited.

    start           start a module with our own interpreter, in its own process group
    helper_process  run a function of a module on another core, with a connection to it
    framing         messages with a 4-byte length, over sockets and pipes
    limits          limits that a child sets itself: core dumps, memory, seconds per job
    heap            allocator settings, and freed memory given back to the system
    exit_report     wait for a child, then say how it exited and the last line it wrote

Users: `parse.pool` and `parser_process`, `graph.reports.inspection` and `inspector`, `graph.ranking.hits_process`,
`store.sqlite.follow.link_changes`, `indexing`, `demo`, `web.crawl.control`, `web.search.search_client` and
`search_process`, `cli.go`.
"""
