-- To version 3: hosts count the sitemaps requested in a round; an index counts the pages with `cut` in `resources`.

ALTER TABLE hosts ADD COLUMN round_sitemaps INTEGER NOT NULL DEFAULT 0;
CREATE INDEX resources_cut ON resources (id) WHERE cut <> '';
