"""The page budget: what one page may cost at each stage, from the socket to the screen.

Strangers write the pages, so a stage that takes a page as it is can be made to take everything. Each stage cuts a page
that is over its limit and says so (`Page.cut`, column `cut` of `resources`). The stages after it need no care.

The order is that of a page's way. Users set two more limits: `fetch.max_bytes` (bytes of a body, on the wire and
decoded) and `parse.max_links` (links kept).
"""

from __future__ import annotations

MAX_NODES = 500_000  # start and end tags of one page; the largest documents of the test webs have 200,000
# Open elements that Lexbor may search, added up over all tags: half a second. 20,000 nested elements reach it, or all
# tags of a page at a depth of 400.
MAX_TREE_STEPS = 200_000_000
MAX_ATTRIBUTES = 4_096  # of one tag: Lexbor compares each with all before it
MAX_FEED_ENTRIES = 10_000  # read of one feed; each may hold a page of HTML
MAX_TEXT_BYTES = 8 << 20  # UTF-8 text kept: twice the longest novels
MAX_WORDS = 1_000_000  # words indexed, each with its position
MAX_VIEW_CHARACTERS = 500_000  # text of a page shown at a time in the web app
MAX_MARKED_CHARACTERS = 200_000  # of those, searched for words to mark
MAX_ANSWER_POSITIONS = 100_000  # positions in one answer about a word, over all its documents
MAX_ANSWER_BYTES = 16 << 20  # of one JSON or HTML answer of the web app
