"""A hostile web for the tests: a server that misbehaves on demand, and a table of what a crawl must record.

    server.py        the server; a behaviour is a function that answers one request
    wire.py          behaviours that are wrong on the wire: sizes, pace, HTTP, redirects, robots.txt
    pages.py         behaviours with hostile content: pages, sitemaps, feeds, compression
    certificates.py  certificates, good and bad
    hook/            makes parser processes crash on demand; in tests only
    world.py         starts every server, by name
    cases.py         THE TABLE: each case with the state, outcome and reason that the crawl must record

`tests/flow/test_hostile_crawl.py` crawls it with the real command.
"""

from hostile.server import PAGE, Exchange, HostileServer, behaviour
from hostile.wire import WIRE

__all__ = ["PAGE", "WIRE", "Exchange", "HostileServer", "behaviour"]
