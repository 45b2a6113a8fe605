"""The weight of each part of a score, and the measurements behind it.

`bench/quality.py` judges the weights by three measures. Each runs the real path: serve, crawl, index, search.

    Cranfield   1,400 abstracts and 225 long queries with judgements: the topic of a text
    titles      pages of three documentation webs, queried by their own title: known items
    anchors     the same webs, queried by anchor texts of links that the index does not have

Each weight keeps all three measures near their best; none is the optimum of a single measure.

    saturation, length, title         Cranfield is flat from 1.6 to 3 (k1), .6 to .9 (b) and 2 to 4 (title). Tantivy's
                                      BM25 (1.2, .75) has .010 less nDCG@10.
    proximity, nearness               .2 adds .004 nDCG@10 on Cranfield; from .5 on it loses.
    titles                            With less than half of it, fewer than 90 % of the titles are at rank 1.
    anchors                           From .5 to .8 the MRR of anchors gains 16 to 21 %; more takes titles from rank 1.
    anchor_saturation, anchor_length  A saturation of .5 gains 2 % more MRR but loses 1 % of the titles. A length of
                                      12 loses 5 % MRR.
    pagerank                          Any value from .1 to .2 gives the same results.
    url, freshness                    They decide between pages that are otherwise equal.
"""

from __future__ import annotations

from gossamer.index.protocol import FieldWeights
from gossamer.model import Value


class RankWeights(Value, frozen=True, kw_only=True):
    """Weights of the second pass. Each part is between 0 and 1, and the text has weight 1."""

    proximity: float
    titles: float
    anchors: float
    pagerank: float
    url: float
    freshness: float
    # -- inside the parts
    saturation: float  # BM25F: k1
    length: float  # BM25F: b of the text
    title: float  # of a word in the title, relative to one in the text
    heading: float  # of a word in a heading, likewise
    nearness: float  # saturation of proximity
    anchor_saturation: float  # BM25 of anchor texts: k1; its b is `length`
    anchor_length: float  # words of anchor texts of a usual page; with more words, each counts less
    # -- the order
    spread: float  # factor of each further hit of a host, relative to the one before


FIRST_PASS_WEIGHTS = FieldWeights(title=1.0, headings=0.5, body=1.0, url=0.5)
SECOND_PASS_WEIGHTS = RankWeights(
    proximity=0.2,
    titles=1.4,
    anchors=0.8,
    pagerank=0.1,
    url=0.02,
    freshness=0.01,
    saturation=2.0,
    length=0.7,
    title=3.0,
    heading=1.0,
    nearness=1.0,
    anchor_saturation=0.8,
    anchor_length=32.0,
    spread=0.9,
)
