"""How much each part of a score counts: all of it here, and the experiment that set it.

`bench/quality.py` judges any of these by three measures that pull in different directions, each through the real path
(pages served, crawled, indexed, searched):

    Cranfield   1,400 abstracts and 225 long questions with judgements: what a text is about
    titles      pages of three documentation webs, asked for by their own title: known items
    anchors     the same webs, asked by anchor texts of links that were held out of the index: what others call a page

A weight is where it is because all three stay near their best there; none is at an optimum of one of them.

    saturation, length, title    Cranfield is flat from 1.6 to 3 (k1), .6 to .9 (b), 2 to 4 (title); Tantivy's own BM25
                                 (1.2, .75) has .010 less nDCG@10
    proximity, nearness          .2 of neighbours pulling each other: Cranfield + .004 nDCG@10; from .5 on it loses
                                 again. The shortest window with all words instead: - .006 from .2 on
    titles                       squared, so that only a title that is nearly the question counts; with less than half
                                 as much, less than 90 % of the titles are found at rank 1
    anchors, calls, called       from .5 to .8 the anchors' MRR gains 16 to 21 %; more takes titles from rank 1. `calls`
                                 of .5 gains 2 % more of it and takes 1 % of the titles; `called` of 12 loses 5 %
    pagerank                     from .1 to .2 nothing changes
    url, freshness               settle what is otherwise equal
"""

from __future__ import annotations

from gossamer.index.protocol import FieldWeights
from gossamer.model import Value


class RankWeights(Value, frozen=True, kw_only=True):
    """The second pass. The parts lie between 0 and 1, and the text's weight is 1."""

    proximity: float
    titles: float
    anchors: float
    pagerank: float
    url: float
    freshness: float
    # -- inside the parts
    saturation: float  # BM25F: k1
    length: float  # BM25F: b of the text
    title: float  # what a word in the title counts, one in the text being 1
    heading: float
    nearness: float  # how soon proximity is satisfied
    anchor_saturation: float  # BM25 of anchor texts: k1; its b is `length`
    anchor_length: float  # words of anchor texts that a page usually has: where there are more, each counts less
    # -- the order
    spread: float  # what each further hit of a host counts, the one before being 1


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
