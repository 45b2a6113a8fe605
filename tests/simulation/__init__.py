"""A deterministic simulation of a crawl: frontier, leases, heartbeats and up to five crawlers.

One thread runs everything. One seeded random generator owns the clock, the network, the disk and the order of events,
so a seed replays exactly. The crawl loop, the writer, the frontier and the SQLite store are the real code. Only the
system calls below them are simulated: time, threads, sockets, transfers and parsers.

`run_seed` in `run.py` is the entry. This command replays a seed and shows its trace:

    PYTHONPATH=tests .venv/bin/python -m simulation SEED
"""
