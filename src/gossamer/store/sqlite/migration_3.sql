-- To version 3: the column `cut` of resources, and an index that counts the pages that have it.

CREATE INDEX resources_cut ON resources (id) WHERE cut <> '';
