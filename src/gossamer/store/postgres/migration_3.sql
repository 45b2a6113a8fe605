-- From version 1 to 3: hosts count the sitemaps requested in a round.

ALTER TABLE hosts ADD COLUMN round_sitemaps BIGINT NOT NULL DEFAULT 0;
