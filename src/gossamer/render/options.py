"""The options of renderer processes, apart from their code: the coordinator does not import that."""

from __future__ import annotations

import msgspec


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator sends to every renderer process at its start. Limits are for one page."""

    browser: str  # path of the program
    unsafe: bool = False  # go on where a layer of isolation is missing
    tabs: int = 4  # of one browser
    user_agent: str = ""  # "": the browser's own, without "Headless"
    write_hosts: frozenset[str] = (
        frozenset()
    )  # hosts, with their ports, where pages may use other methods than GET and HEAD
    scroll: bool = False  # scroll to the end, for pages that load more when somebody scrolls
    seconds: float = 15.0  # of work, without the time in which it waits for the crawl
    max_seconds: float = 60.0  # from the start until the snapshot
    max_requests: int = 500
    max_dialogs: int = 5
    max_popups: int = 20
    max_nodes: int = 200_000  # of the DOM; 400,000 links cannot be serialized in 2 seconds
    max_bytes: int = 16 << 20  # of the snapshot, and of one response
    max_answer_bytes: int = 64 << 20  # of all responses to the requests of a page
    max_url_length: int = 2000  # characters; longer URLs are neither recorded nor routes
    memory: int = 768  # MiB of data of each process of the browser
