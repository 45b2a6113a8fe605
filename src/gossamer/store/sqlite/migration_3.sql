-- From version 2 to 3: hosts count the sitemaps requested in a round.

ALTER TABLE hosts ADD COLUMN round_sitemaps INTEGER NOT NULL DEFAULT 0;
