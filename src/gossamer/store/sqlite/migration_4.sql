-- To version 4: pages that a browser rendered, and what browsers found about path shapes.

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
CREATE TABLE shapes (
    host      INTEGER NOT NULL REFERENCES hosts (id),
    shape     TEXT NOT NULL,
    signed    INTEGER NOT NULL,
    outcomes  TEXT NOT NULL,
    looked_at REAL NOT NULL,
    PRIMARY KEY (host, shape, signed)
) STRICT, WITHOUT ROWID;
CREATE INDEX resources_rendered ON resources (id) WHERE rendered <> '';
CREATE INDEX resources_unrendered ON resources (id) WHERE script_sign <> '' AND rendered = '';
