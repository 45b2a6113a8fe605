-- To version 4: pages that a browser rendered, and what browsers found about path shapes.

CREATE TABLE renderings (
    resource     BIGINT PRIMARY KEY,
    words        INTEGER NOT NULL,
    links        INTEGER NOT NULL,
    plain_words  INTEGER NOT NULL,
    plain_links  INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    cut          TEXT COLLATE "C" NOT NULL,
    dom          BYTEA NOT NULL,
    screenshot   BYTEA NOT NULL
);
CREATE TABLE shapes (
    host      BIGINT NOT NULL,
    shape     TEXT COLLATE "C" NOT NULL,
    signed    SMALLINT NOT NULL,
    outcomes  TEXT COLLATE "C" NOT NULL,
    looked_at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (host, shape, signed)
);
CREATE INDEX resources_rendered ON resources (id) WHERE rendered <> '';
CREATE INDEX resources_unrendered ON resources (id) WHERE script_sign <> '' AND rendered = '';
ALTER TABLE renderings ALTER COLUMN dom SET STORAGE EXTERNAL;
ALTER TABLE renderings ALTER COLUMN screenshot SET STORAGE EXTERNAL;
