"""The command line: arguments come in, calls to the other packages go out.

Answers go to stdout; messages and progress go to stderr. A `GossamerError` becomes one sentence and exit code 2.
Commands import heavy modules inside their functions, so that the first output comes within 0.2 s.

Central names:
    main           -> `COMMANDS` lists every command with its module; `run` is the `gossamer` program
    options        -> options that commands share, `open_web`, `load_settings`
    output         -> tables, JSON, messages, `ProgressLine`
    crawl, go      -> `crawl`, `watch`; `go` adds the web app. `live` draws a running crawl
    import_pages   -> `import`
    status, page, word, search, report -> the commands that read a web; `freshness` adds ages and due visits
    rank           -> `rank`, `shape`, `related`
    export, export_graph -> `export ...`; `export_output` opens `--out` and prints the summary
    crawlers       -> `crawlers`, `pause`, `resume`, `stop`, `parsers`
    serve, index, copy, forget, config -> one command each
    reference      -> writes docs/reference from the help texts
"""
