"""The command line: words and flags come in, calls to the other rooms go out; answers on stdout, messages on stderr.

`main` holds the index of the commands; one module per group of commands follows it. A command is a `click.command` with
`store_option` (and `json_option` when it reads) from `options`; what it prints goes through `output`; a fault is raised
as a `GossamerError`, which `main.run` turns into one sentence and exit code 2. What is heavy is imported inside the
command. `live` shows a crawl at work.
"""
