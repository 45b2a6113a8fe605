-- From version 1 to 2: digests are a table of their own, no longer an index of resources.
--
-- For some hours new webs had that table and still claimed version 1: each step looks whether it was made.

CREATE TABLE IF NOT EXISTS digests (
    digest   BLOB PRIMARY KEY,
    resource INTEGER NOT NULL REFERENCES resources (id)
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('digested', 0) ON CONFLICT DO NOTHING;

-- The plus lets SQLite read them from the index that goes next, which has them in order: nothing is sorted in memory.
INSERT INTO digests (digest, resource)
    SELECT digest, id FROM resources WHERE +id > (SELECT value FROM meta WHERE key = 'digested') ORDER BY digest;
UPDATE meta SET value = (SELECT value FROM meta WHERE key = 'last_resource') WHERE key = 'digested';
DROP INDEX IF EXISTS resources_digest;
