-- From version 1 to 2: the table digests replaces an index of resources.
--
-- Some webs of version 1 have that table already, so each step checks whether it is done.

CREATE TABLE IF NOT EXISTS digests (
    digest   BLOB PRIMARY KEY,
    resource INTEGER NOT NULL REFERENCES resources (id)
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('digested', 0) ON CONFLICT DO NOTHING;

-- The plus makes SQLite read the rows in order from the index that is dropped next, so it sorts nothing in memory.
INSERT INTO digests (digest, resource)
    SELECT digest, id FROM resources WHERE +id > (SELECT value FROM meta WHERE key = 'digested') ORDER BY digest;
UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'last_resource') WHERE key = 'digested';
DROP INDEX IF EXISTS resources_digest;
