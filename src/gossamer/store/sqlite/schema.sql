-- The SQLite store, version 4: the web.db of a directory.
--
-- A new web gets this file. The numbered steps of store/migrations.py bring an older one here. Times are Unix seconds
-- (REAL). States, roles and outcomes are stored as words, kinds and positions as the numbers of `gossamer.model`. So the
-- sqlite3 shell alone can read a web.
--
-- REFERENCES serve readers and `PRAGMA foreign_key_check` (the tests run it). SQLite does not enforce them, because that
-- takes two look-ups for each of 60 bonds a page. One transaction per batch keeps them valid.

-- Counters that are fast at any size, updated in the transaction that changes the counted rows: version, generation, the
-- last assigned ids (a DocID is never used twice), hosts, links, documents, and resources by state.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Crawlers at work, and those that ended. A later crawler may use the name again, never the id.
CREATE TABLE crawlers (
    id               INTEGER PRIMARY KEY,
    name             TEXT    NOT NULL,
    machine          TEXT    NOT NULL,
    pid              INTEGER NOT NULL,
    lock             INTEGER NOT NULL,               -- inode of crawlers/NAME.lock; a new file proves nothing
    started_at       REAL    NOT NULL,
    heartbeat_at     REAL    NOT NULL,
    wanted           TEXT    NOT NULL DEFAULT 'run', -- run, pause, stop
    state            TEXT    NOT NULL DEFAULT 'running', -- running, paused, waiting, stopped, lost
    pages            INTEGER NOT NULL DEFAULT 0,
    pages_per_second REAL    NOT NULL DEFAULT 0,
    bytes_per_second REAL    NOT NULL DEFAULT 0,
    limited_by       TEXT    NOT NULL DEFAULT '',
    waiting_for      TEXT    NOT NULL DEFAULT '',
    parsers          INTEGER NOT NULL DEFAULT 0,     -- parser processes, by its last report
    most_parsers     INTEGER NOT NULL DEFAULT 0,     -- it may have; 0: the number cannot be changed
    wanted_parsers   INTEGER                         -- it shall have; NULL: as many as it was started with
) STRICT;

-- Runs of a crawl with their settings. Limits hold for all crawlers together.
CREATE TABLE rounds (
    id                 INTEGER PRIMARY KEY,
    started_at         REAL    NOT NULL,
    finished_at        REAL,
    settings           TEXT    NOT NULL,             -- CrawlSettings as JSON
    max_pages          INTEGER,
    max_pages_per_host INTEGER,
    pages              INTEGER NOT NULL DEFAULT 0    -- pages fetched or found not modified in this round
) STRICT;

CREATE TABLE seeds (
    round INTEGER NOT NULL REFERENCES rounds (id),
    seq   INTEGER NOT NULL,
    url   TEXT    NOT NULL,
    PRIMARY KEY (round, seq)
) STRICT, WITHOUT ROWID;

-- An authority (`example.org`, `localhost:8080`). The counters show work without reading resources.
CREATE TABLE hosts (
    id            INTEGER PRIMARY KEY,
    holder        INTEGER REFERENCES crawlers (id),  -- the only crawler that may visit it now
    queued_pages  INTEGER NOT NULL DEFAULT 0,
    queued_others INTEGER NOT NULL DEFAULT 0,        -- sitemaps and link checks; page limits do not apply to them
    spent         INTEGER NOT NULL DEFAULT 0,        -- 1: its page limit of the round is reached
    ready_at      REAL    NOT NULL DEFAULT 0,        -- no visit before
    delay         REAL    NOT NULL DEFAULT 0,
    failures      INTEGER NOT NULL DEFAULT 0,        -- in a row
    known         INTEGER NOT NULL DEFAULT 0,        -- its resources in any state
    pages         INTEGER NOT NULL DEFAULT 0,        -- visited as pages: fetched or not modified
    failed        INTEGER NOT NULL DEFAULT 0,        -- failed or gone
    round_pages   INTEGER NOT NULL DEFAULT 0,        -- like rounds.pages, of this host
    name          TEXT    NOT NULL UNIQUE,
    reason        TEXT    NOT NULL DEFAULT ''        -- why it waits
    -- Sitemaps requested in this round. The comma stands where ALTER TABLE writes it in older webs.
    , round_sitemaps INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX hosts_free ON hosts (ready_at, id)
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0);
CREATE INDEX hosts_held ON hosts (holder) WHERE holder IS NOT NULL;

-- A robots.txt applies to one scheme, host and port (RFC 9309 section 2.3).
CREATE TABLE robots (
    host       INTEGER NOT NULL REFERENCES hosts (id),
    scheme     TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,                     -- rules, unavailable, unreachable
    text       TEXT    NOT NULL,
    fetched_at REAL    NOT NULL,
    reason     TEXT    NOT NULL,
    PRIMARY KEY (host, scheme)
) STRICT, WITHOUT ROWID;

-- Known URLs. store/columns.py declares the columns for both back-ends.
CREATE TABLE resources (
{resource_columns}
) STRICT;

-- Partial indexes hold open work only, so the cost of finding it does not grow with finished work. Pages have a queue of
-- their own, because page limits apply only to them.
CREATE INDEX resources_queued_pages ON resources (host, priority DESC, id) WHERE state = 'queued' AND role = 'page';
CREATE INDEX resources_queued_others ON resources (host, priority DESC, id) WHERE state = 'queued' AND role <> 'page';
CREATE INDEX resources_leased ON resources (host, role) WHERE state = 'leased';
CREATE INDEX resources_seeds ON resources (id) WHERE seed = 1;
CREATE INDEX resources_errors ON resources (id) WHERE state IN ('failed', 'gone', 'refused');
-- Few pages are over the page budget; `status` counts them here.
CREATE INDEX resources_cut ON resources (id) WHERE cut <> '';
-- `status` counts the pages that a browser rendered, and those that would need one.
CREATE INDEX resources_rendered ON resources (id) WHERE rendered <> '';
CREATE INDEX resources_unrendered ON resources (id) WHERE script_sign <> '' AND rendered = '';
-- The resources of each pace that wait longest come first, so due ones are found without reading the rest.
CREATE INDEX resources_pace ON resources (pace, visited_at)
    WHERE state IN ('visited', 'failed', 'refused', 'gone') AND pace IS NOT NULL;
-- Index and graph catch up by `WHERE version > ?`, which implies IS NOT NULL.
CREATE INDEX resources_version ON resources (version) WHERE version IS NOT NULL;

-- Resources by digest. Those with an id above the counter `digested` are not here yet (work/digests.py).
CREATE TABLE digests (
    digest   BLOB PRIMARY KEY,
    resource INTEGER NOT NULL REFERENCES resources (id)
) STRICT, WITHOUT ROWID;

-- How many other resources lead a reader to a resource; none: no row. Every batch updates thousands of rows. They are not
-- in resources, because 400 of these rows share a page of the file, but only ten rows of resources.
CREATE TABLE backlinks (
    resource INTEGER PRIMARY KEY REFERENCES resources (id),
    number   INTEGER NOT NULL
) STRICT;

-- DocIDs of deleted resources, so that index and graph can drop them.
CREATE TABLE forgotten (
    resource INTEGER PRIMARY KEY,
    version  INTEGER NOT NULL
) STRICT;
CREATE INDEX forgotten_version ON forgotten (version);

-- The decoded body of a visited resource, zstd. Not in resources, because it is ten times as big and seldom read.
CREATE TABLE sources (
    resource INTEGER PRIMARY KEY REFERENCES resources (id),
    body     BLOB NOT NULL
) STRICT;

-- The text for the index: zstd of msgpack [[field, text], ...] in reading order.
CREATE TABLE texts (
    resource INTEGER PRIMARY KEY REFERENCES resources (id),
    body     BLOB NOT NULL
) STRICT;

-- What a browser made of a page: counts of both readings, the DOM (zstd of HTML, empty: not kept) and a screenshot (empty:
-- none). The words and links themselves are in texts and links, as of every page.
CREATE TABLE renderings (
    resource     INTEGER PRIMARY KEY REFERENCES resources (id),
    words        INTEGER NOT NULL,
    links        INTEGER NOT NULL,
    plain_words  INTEGER NOT NULL,
    plain_links  INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    cut          TEXT NOT NULL,
    dom          BLOB NOT NULL,
    screenshot   BLOB NOT NULL
) STRICT;

-- What browsers found about the pages of one path shape (crawl/rendering), with and without a sign of scripts.
-- `outcomes` are the last pages rendered, newest last: 1 scripts added words or links, 0 they did not.
CREATE TABLE shapes (
    host      INTEGER NOT NULL REFERENCES hosts (id),
    shape     TEXT NOT NULL,
    signed    INTEGER NOT NULL,
    outcomes  TEXT NOT NULL,
    looked_at REAL NOT NULL,
    PRIMARY KEY (host, shape, signed)
) STRICT, WITHOUT ROWID;

-- Bonds, clustered by source, because the bonds of a page are written, replaced and read together.
CREATE TABLE links (
    source   INTEGER NOT NULL REFERENCES resources (id),
    seq      INTEGER NOT NULL,                       -- order of first occurrence
    target   INTEGER NOT NULL REFERENCES resources (id),
    kind     INTEGER NOT NULL,
    follow   INTEGER NOT NULL,
    weight   INTEGER NOT NULL,                       -- number of occurrences
    position INTEGER NOT NULL,
    rel      TEXT    NOT NULL,
    anchor   TEXT    NOT NULL,
    PRIMARY KEY (source, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_target ON links (target);
-- Redirects (4) and canonical links (5): bonds that name another page as the same.
CREATE INDEX links_same ON links (target) WHERE kind IN (4, 5);

-- Changes that visits found: a row describes the resource before the change.
CREATE TABLE history (
    id         INTEGER PRIMARY KEY,
    resource   INTEGER NOT NULL REFERENCES resources (id),
    found_at   REAL    NOT NULL,                     -- the visit that found it
    since      REAL    NOT NULL,                     -- the last visit that found the old content
    event      TEXT    NOT NULL,                     -- changed, gone, moved, refused, appeared
    status     INTEGER NOT NULL,                     -- before the change, like bytes and title
    bytes      INTEGER NOT NULL,
    title      TEXT    NOT NULL,
    parts      TEXT    NOT NULL,                     -- the parts that differ, separated by blanks: text title links ...
    links      BLOB    NOT NULL,                     -- zstd of msgpack [lost bonds, gained bonds]; empty: no change
    source     BLOB                                  -- zstd, as in sources; within the budget for old sources
) STRICT;
CREATE INDEX history_resource ON history (resource);
CREATE INDEX history_found ON history (found_at);
CREATE INDEX history_sources ON history (id) WHERE source IS NOT NULL;

-- Resources that gained or lost bonds because a visit found a linking page changed. Targets of first visits are not here,
-- because all their bonds are new and are found by their source.
CREATE TABLE relinked (
    target  INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;
CREATE INDEX relinked_version ON relinked (version);

-- The lexicon: a term keeps its WordID forever; stop words have 0.
CREATE TABLE words (
    term TEXT PRIMARY KEY,
    word INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX words_word ON words (word) WHERE word <> 0;

CREATE TABLE visits (
    id           INTEGER PRIMARY KEY,
    resource     INTEGER NOT NULL REFERENCES resources (id),
    round        INTEGER NOT NULL,
    visited_at   REAL    NOT NULL,
    crawler      INTEGER NOT NULL REFERENCES crawlers (id),
    outcome      TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL
) STRICT;
CREATE INDEX visits_resource ON visits (resource);

-- Results of graph analysis, which the graph package writes as a whole: a row for each page of the graph, for each host,
-- and one that says how they were computed.
CREATE TABLE ranks (
    resource   INTEGER PRIMARY KEY REFERENCES resources (id),
    pagerank   REAL    NOT NULL,                     -- the sum over all pages is 1
    score      REAL    NOT NULL,                     -- the same on a logarithmic scale, 0..100
    indegree   INTEGER NOT NULL,                     -- pages that link here
    outdegree  INTEGER NOT NULL,
    in_weight  INTEGER NOT NULL,                     -- number of links from them
    out_weight INTEGER NOT NULL,
    hub        REAL,                                 -- NULL, here and below: not computed in the last run
    authority  REAL,
    harmonic   REAL,                                 -- sum of 1 / clicks over all pages that lead here
    depth      INTEGER,                              -- clicks from the seeds; NULL also when no path leads here
    component  INTEGER,                              -- strongly connected component; 0 is the biggest
    bowtie     TEXT,                                 -- core, in, out, tube, tendril, apart
    community  INTEGER,                              -- 0 is the biggest
    core       INTEGER                               -- the k of the innermost k-core
) STRICT;

CREATE TABLE host_ranks (
    host       INTEGER PRIMARY KEY REFERENCES hosts (id),
    pages      INTEGER NOT NULL,                     -- in the graph
    pagerank   REAL    NOT NULL,
    score      REAL    NOT NULL,
    indegree   INTEGER NOT NULL,                     -- hosts that link here
    outdegree  INTEGER NOT NULL,
    in_weight  INTEGER NOT NULL,
    out_weight INTEGER NOT NULL,
    hub        REAL,
    authority  REAL,
    harmonic   REAL,
    component  INTEGER,
    community  INTEGER
) STRICT;

CREATE TABLE rankings (
    facts TEXT NOT NULL                              -- JSON: gossamer.store.follow.graph.Ranking
) STRICT;

INSERT INTO meta (key, value) VALUES
    ('version', 0), ('generation', 0), ('last_resource', 0), ('last_host', 0), ('hosts', 0), ('links', 0), ('documents', 0),
    ('old_sources', 0), ('digested', 0),
    ('resources known', 0), ('resources queued', 0), ('resources leased', 0), ('resources visited', 0),
    ('resources failed', 0), ('resources refused', 0), ('resources out of scope', 0), ('resources gone', 0);
