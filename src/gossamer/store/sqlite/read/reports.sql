-- The questions of `gossamer.store.read.questions` for SQLite: shared views, then a statement for each question.
--
-- The views are temporary, so a web that is opened for reading is not written to. reports.py fills the tables `kinds` and
-- `positions` (number, word) from the model. The columns of an answer are in the order that the question names.

-- Pages that were fetched.
CREATE TEMP VIEW pages AS
SELECT * FROM main.resources
WHERE state = 'visited' AND role = 'page' AND outcome IN ('fetched', 'not modified');

-- Pages whose canonical is another resource. Stored links lead to it, because resources have no index by URL.
CREATE TEMP VIEW canonicals AS
SELECT p.id AS page, t.id AS target, t.url, t.state, t.outcome, t.status, t.noindex, t.canonical
FROM pages AS p CROSS JOIN main.links AS l ON l.source = p.id AND l.kind = 5
CROSS JOIN main.resources AS t ON t.id = l.target
WHERE p.canonical NOT IN ('', p.url) AND t.url = p.canonical;

-- Pages that search engines could list. A canonical that was visited and may be listed replaces the page.
CREATE TEMP VIEW listed AS
SELECT * FROM pages AS p
WHERE noindex = 0 AND (canonical IN ('', url) OR NOT EXISTS (
    SELECT 1 FROM main.links AS l JOIN main.resources AS t ON t.id = l.target
    WHERE l.source = p.id AND l.kind = 5 AND t.url = p.canonical
        AND t.state = 'visited' AND t.outcome IN ('fetched', 'not modified') AND t.noindex = 0));

CREATE TEMP VIEW listed_html AS
SELECT * FROM listed WHERE media_type IN ('text/html', 'application/xhtml+xml');

-- Visited or tried resources that cannot be listed, and why.
CREATE TEMP VIEW unlisted AS
SELECT *, CASE
        WHEN outcome = 'refused by robots.txt' THEN 'robots.txt'
        WHEN outcome = 'redirected' THEN 'redirects'
        WHEN outcome NOT IN ('fetched', 'not modified') THEN outcome
        WHEN noindex THEN 'noindex'
        ELSE 'canonical is another page' END AS why
FROM main.resources
WHERE role = 'page' AND state IN ('visited', 'gone', 'failed', 'refused') AND id NOT IN (SELECT id FROM listed);

-- Links that a reader or a browser follows. Other reports cover sitemaps, canonicals and redirects.
CREATE TEMP VIEW followed AS
SELECT * FROM main.links WHERE kind NOT IN (4, 5, 9, 10);

-- Where each redirect ends: `hops` steps on.
CREATE TEMP VIEW redirections AS
WITH RECURSIVE
    chain (start, at, hops, path) AS (
        SELECT id, id, 0, url || ' (' || status || ')' FROM main.resources
        WHERE outcome IN ('redirected', 'redirect loop', 'too many redirects')
        UNION ALL
        SELECT c.start, t.id, c.hops + 1,
            c.path || ' → ' || t.url || CASE t.status WHEN 0 THEN '' ELSE ' (' || t.status || ')' END
        FROM chain AS c JOIN main.resources AS h ON h.id = c.at AND h.outcome = 'redirected'
        JOIN main.links AS l ON l.source = c.at AND l.seq = 0 AND l.kind = 4 JOIN main.resources AS t ON t.id = l.target
        WHERE c.hops < 64)
SELECT s.id, s.url, s.status, c.hops, c.path, e.url AS final, e.state AS final_state, e.outcome AS final_outcome,
    e.status AS final_status, e.reason AS final_reason,
    (SELECT count(DISTINCT source) FROM followed WHERE target = s.id AND kind <> 6) AS inlinks
FROM chain AS c JOIN main.resources AS s ON s.id = c.start JOIN main.resources AS e ON e.id = c.at
WHERE e.outcome <> 'redirected' OR c.hops = 64;

-- Entries of sitemaps.
CREATE TEMP VIEW entries AS
SELECT m.url AS sitemap, l.target
FROM main.resources AS m CROSS JOIN main.links AS l ON l.source = m.id AND l.kind = 9
WHERE m.role = 'sitemap' AND m.state = 'visited';

-- question: kept
SELECT count(*) AS pages, coalesce(sum(p.outlinks = -1), 0) AS without_links,
    coalesce(sum(s.resource IS NULL), 0) AS without_source
FROM pages AS p LEFT JOIN main.sources AS s ON s.resource = p.id;

-- question: broken links
SELECT s.url AS source, t.url, t.status, t.outcome, l.anchor, p.word AS position, k.word AS kind, l.weight, t.reason
FROM main.resources AS t INDEXED BY resources_errors
CROSS JOIN followed AS l ON l.target = t.id CROSS JOIN main.resources AS s ON s.id = l.source
JOIN kinds AS k ON k.number = l.kind JOIN positions AS p ON p.number = l.position
WHERE t.state IN ('failed', 'gone', 'refused') AND t.state <> 'refused'
    AND t.outcome NOT IN ('redirect loop', 'too many redirects', 'throttled')
    AND t.status NOT IN (401, 402, 403, 407, 451)
ORDER BY t.id, l.source, l.seq;

-- question: closed links
SELECT s.url AS source, t.url, t.status, t.outcome, l.anchor, p.word AS position, k.word AS kind, l.weight
FROM main.resources AS t INDEXED BY resources_errors
CROSS JOIN followed AS l ON l.target = t.id CROSS JOIN main.resources AS s ON s.id = l.source
JOIN kinds AS k ON k.number = l.kind JOIN positions AS p ON p.number = l.position
WHERE t.state IN ('failed', 'gone', 'refused') AND (t.outcome = 'throttled' OR t.status IN (401, 402, 403, 407, 451))
ORDER BY t.id, l.source, l.seq;

-- question: inlinks
SELECT s.url AS source, l.anchor, l.weight, k.word AS kind, l.follow, l.rel, p.word AS position
FROM main.links AS l JOIN main.resources AS s ON s.id = l.source
JOIN kinds AS k ON k.number = l.kind JOIN positions AS p ON p.number = l.position
WHERE l.target = :resource ORDER BY l.source, l.seq;

-- question: outlinks
SELECT t.url, l.anchor, l.weight, k.word AS kind, l.follow, l.rel, p.word AS position, t.state, t.status
FROM main.links AS l JOIN main.resources AS t ON t.id = l.target
JOIN kinds AS k ON k.number = l.kind JOIN positions AS p ON p.number = l.position
WHERE l.source = :resource ORDER BY l.seq;

-- question: link counts
WITH counts AS MATERIALIZED (
    SELECT l.source, sum(l.weight) AS links, count(DISTINCT l.target) AS targets,
        sum(l.weight * (t.host <> s.host)) AS external, sum(l.weight * (l.follow = 0)) AS nofollow
    FROM main.resources AS s CROSS JOIN main.links AS l ON l.source = s.id
    CROSS JOIN main.resources AS t ON t.id = l.target
    WHERE l.kind = 1 AND s.state = 'visited' AND s.role = 'page' GROUP BY l.source)
SELECT p.url, coalesce(b.number, 0) AS backlinks, coalesce(c.links, 0) AS links_out, coalesce(c.targets, 0) AS targets,
    coalesce(c.external, 0) AS external, coalesce(c.nofollow, 0) AS nofollow
FROM pages AS p LEFT JOIN counts AS c ON c.source = p.id LEFT JOIN main.backlinks AS b ON b.resource = p.id
ORDER BY backlinks DESC, p.id;

-- question: most linked
WITH top AS MATERIALIZED (
    SELECT r.id, r.url, r.state, b.number AS backlinks
    FROM main.backlinks AS b JOIN main.resources AS r ON r.id = b.resource
    ORDER BY b.number DESC, b.resource LIMIT :most),
anchors AS MATERIALIZED (
    SELECT target, anchor, sum(weight) AS times FROM main.links NOT INDEXED
    WHERE kind = 1 AND source <> target AND target IN (SELECT id FROM top) GROUP BY target, anchor),
best AS (
    SELECT *, row_number() OVER (PARTITION BY target ORDER BY times DESC, anchor) AS ordinal,
        count(*) OVER (PARTITION BY target) AS texts
    FROM anchors)
SELECT t.url, t.state, t.backlinks, coalesce(sum(b.times), 0) AS links, coalesce(max(b.texts), 0) AS texts,
    coalesce((SELECT group_concat(CASE anchor WHEN '' THEN '(none)' ELSE anchor END || ' (' || times || ')', ', ')
        FROM (SELECT anchor, times FROM best WHERE target = t.id AND ordinal <= 5 ORDER BY ordinal)), '') AS anchors
FROM top AS t LEFT JOIN best AS b ON b.target = t.id
GROUP BY t.id ORDER BY t.backlinks DESC, t.id;

-- count: most linked
SELECT count(*) FROM (SELECT 1 FROM main.backlinks LIMIT :most) AS top;

-- question: host bonds
WITH bonds AS MATERIALIZED (
    SELECT s.host AS source, t.host AS target, sum(l.weight) AS links, count(DISTINCT l.source) AS pages,
        count(DISTINCT l.target) AS targets
    FROM main.resources AS s CROSS JOIN main.links AS l ON l.source = s.id
    CROSS JOIN main.resources AS t ON t.id = l.target
    WHERE l.kind = 1 AND s.outlinks > 0 AND s.role = 'page' AND s.host <> t.host GROUP BY s.host, t.host)
SELECT s.name AS source, t.name AS target, b.links, b.pages, b.targets
FROM bonds AS b JOIN main.hosts AS s ON s.id = b.source JOIN main.hosts AS t ON t.id = b.target
ORDER BY b.links DESC, s.name, t.name;

-- question: empty anchors
SELECT s.url AS source, t.url, p.word AS position, l.weight
FROM main.links AS l JOIN main.resources AS s ON s.id = l.source JOIN main.resources AS t ON t.id = l.target
JOIN positions AS p ON p.number = l.position
WHERE l.kind = 1 AND l.anchor = '' ORDER BY l.source, l.seq;

-- question: generic anchors
SELECT s.url AS source, t.url, l.anchor, p.word AS position, l.weight
FROM main.links AS l JOIN main.resources AS s ON s.id = l.source JOIN main.resources AS t ON t.id = l.target
JOIN positions AS p ON p.number = l.position
WHERE l.kind = 1 AND length(l.anchor) <= :longest
    AND trim(lower(l.anchor), :around) IN (SELECT value FROM json_each(:texts))
ORDER BY l.source, l.seq;

-- question: ambiguous anchors
WITH shared AS MATERIALIZED (
    SELECT source, lower(anchor) AS text, count(DISTINCT target) AS targets, min(target) AS one, max(target) AS another
    FROM main.links WHERE kind = 1 AND position = 0 AND anchor <> '' GROUP BY 1, 2 HAVING min(target) < max(target))
SELECT s.url AS source, g.text AS anchor, g.targets, a.url, b.url AS other
FROM shared AS g JOIN main.resources AS s ON s.id = g.source
JOIN main.resources AS a ON a.id = g.one JOIN main.resources AS b ON b.id = g.another
WHERE trim(g.text, :around) NOT IN (SELECT value FROM json_each(:texts)) ORDER BY g.source, g.text;

-- question: varied anchors
WITH varied AS MATERIALIZED (
    SELECT target, count(DISTINCT lower(anchor)) AS texts, sum(weight) AS links, count(DISTINCT source) AS pages
    FROM main.links NOT INDEXED WHERE kind = 1 AND position = 0 AND anchor <> '' AND source <> target
    GROUP BY target HAVING count(DISTINCT lower(anchor)) >= :least)
SELECT t.url, v.texts, v.links, v.pages FROM varied AS v JOIN main.resources AS t ON t.id = v.target
ORDER BY v.texts DESC, t.id;

-- question: nofollow links
SELECT s.url AS source, t.url, l.anchor, l.rel,
    CASE WHEN s.nofollow THEN 'the page says so' ELSE 'rel=nofollow' END AS why, p.word AS position
FROM main.links AS l CROSS JOIN main.resources AS s ON s.id = l.source CROSS JOIN main.resources AS t ON t.id = l.target
JOIN positions AS p ON p.number = l.position
WHERE l.follow = 0 AND l.kind = 1 AND s.host = t.host AND s.id <> t.id ORDER BY l.source, l.seq;

-- question: orphans
SELECT p.url, coalesce((SELECT group_concat(DISTINCT k.word) FROM main.links AS l JOIN kinds AS k ON k.number = l.kind
        WHERE l.target = p.id AND l.source <> p.id), 'earlier crawl') AS known_from, p.status, p.visited_at
FROM listed AS p
WHERE p.seed = 0 AND NOT EXISTS (
    SELECT 1 FROM main.links AS l WHERE l.target = p.id AND l.kind IN (1, 2, 3, 4, 11) AND l.source <> p.id)
ORDER BY p.id;

-- question: depths
SELECT p.depth, count(*) AS pages, round(count(*) * 1.0 / (SELECT count(*) FROM pages), 4) AS share,
    sum(p.id IN (SELECT id FROM listed)) AS indexable
FROM pages AS p GROUP BY p.depth ORDER BY p.depth;

-- question: statuses
SELECT state, outcome, status, count(*) AS resources,
    round(count(*) * 1.0 / (SELECT count(*) FROM main.resources), 4) AS share
FROM main.resources GROUP BY state, outcome, status ORDER BY count(*) DESC, state, outcome, status;

-- question: long titles
SELECT url, length(title) AS characters, title FROM listed_html WHERE length(title) > :most ORDER BY 2 DESC, id;

-- question: long descriptions
SELECT url, length(description) AS characters, description FROM listed_html WHERE length(description) > :most
ORDER BY 2 DESC, id;

-- question: equal titles
SELECT title, copies, url FROM (
    SELECT id, url, title, count(*) OVER alike AS copies,
        min(text_digest) OVER alike <> max(text_digest) OVER alike AS differ
    FROM listed_html WHERE title <> '' WINDOW alike AS (PARTITION BY host, title))
WHERE copies > 1 AND differ ORDER BY copies DESC, title, id;

-- question: equal descriptions
SELECT description, copies, url FROM (
    SELECT id, url, description, count(*) OVER alike AS copies,
        min(text_digest) OVER alike <> max(text_digest) OVER alike AS differ
    FROM listed_html WHERE description <> '' WINDOW alike AS (PARTITION BY host, description))
WHERE copies > 1 AND differ ORDER BY copies DESC, description, id;

-- question: equal pages
SELECT url, same_as, copies, bytes FROM (
    SELECT id, url, bytes, count(*) OVER equal AS copies, first_value(url) OVER (equal ORDER BY depth, id) AS same_as
    FROM listed WHERE length(text_digest) > 0 AND text_digest <> :nothing WINDOW equal AS (PARTITION BY text_digest))
WHERE copies > 1 AND url <> same_as ORDER BY copies DESC, same_as, id;

-- question: mirrors
WITH copies AS MATERIALIZED (
    SELECT DISTINCT text_digest, substr(url, 1, instr(substr(url, 9), '/') + 7) AS origin,
        substr(url, instr(substr(url, 9), '/') + 8) AS path
    FROM pages WHERE length(text_digest) > 0 AND text_digest <> :nothing),
sizes AS MATERIALIZED (SELECT origin, count(*) AS pages FROM copies GROUP BY origin),
pairs AS (
    SELECT a.origin AS origin, b.origin AS other, count(*) AS equal
    FROM copies AS a JOIN copies AS b ON b.text_digest = a.text_digest AND b.path = a.path AND b.origin > a.origin
    GROUP BY a.origin, b.origin)
SELECT p.origin, p.other, p.equal AS equal_pages, a.pages, b.pages AS other_pages,
    round(p.equal * 1.0 / min(a.pages, b.pages), 4) AS share
FROM pairs AS p JOIN sizes AS a ON a.origin = p.origin JOIN sizes AS b ON b.origin = p.other
WHERE p.equal >= 2 AND p.equal * 2 >= min(a.pages, b.pages) ORDER BY p.equal DESC, p.origin, p.other;

-- question: several canonicals
SELECT p.url, count(DISTINCT l.target) AS canonicals, (
        SELECT group_concat(url, ' ') FROM (
            SELECT DISTINCT t.url FROM main.links AS c JOIN main.resources AS t ON t.id = c.target
            WHERE c.source = p.id AND c.kind = 5 ORDER BY c.seq LIMIT 5)) AS named
FROM pages AS p CROSS JOIN main.links AS l ON l.source = p.id AND l.kind = 5
WHERE p.canonical <> '' GROUP BY p.id HAVING count(DISTINCT l.target) > 1 ORDER BY p.id;

-- question: canonicals to errors
SELECT p.url, c.url AS canonical, c.status, CASE
        WHEN c.outcome IN ('fetched', 'not modified') THEN 'noindex' ELSE c.outcome END AS why
FROM canonicals AS c JOIN main.resources AS p ON p.id = c.page
WHERE c.outcome NOT IN ('', 'fetched', 'not modified', 'checked') OR c.noindex ORDER BY p.id;

-- question: canonical chains
SELECT p.url, c.url AS canonical, c.canonical AS next FROM canonicals AS c JOIN main.resources AS p ON p.id = c.page
WHERE c.outcome IN ('fetched', 'not modified') AND NOT c.noindex AND c.canonical NOT IN ('', c.url) ORDER BY p.id;

-- question: blocked by robots
SELECT url, inlinks, source, anchor FROM (
    SELECT t.id, t.url, count(DISTINCT l.source) AS inlinks, s.url AS source, l.anchor, min(l.source)
    FROM main.resources AS t INDEXED BY resources_errors
    CROSS JOIN followed AS l ON l.target = t.id CROSS JOIN main.resources AS s ON s.id = l.source
    WHERE t.state IN ('failed', 'gone', 'refused') AND t.outcome = 'refused by robots.txt' AND t.role = 'page'
        AND l.follow
    GROUP BY t.id)
ORDER BY inlinks DESC, id;

-- question: sitemap entries not visited
SELECT e.sitemap, t.url, t.state, t.reason FROM entries AS e CROSS JOIN main.resources AS t ON t.id = e.target
WHERE t.state NOT IN ('visited', 'gone', 'failed', 'refused') ORDER BY e.sitemap, t.id;

-- question: pages in no sitemap
SELECT p.url, p.depth, coalesce(b.number, 0) AS backlinks
FROM listed_html AS p LEFT JOIN main.backlinks AS b ON b.resource = p.id
WHERE p.host IN (SELECT t.host FROM entries AS e JOIN main.resources AS t ON t.id = e.target)
    AND p.id NOT IN (SELECT target FROM entries) ORDER BY p.id;

-- question: unreadable sitemaps
SELECT url, status, outcome, reason FROM main.resources
WHERE role = 'sitemap' AND (state IN ('failed', 'gone', 'refused') OR state IN ('known', 'visited') AND reason <> '')
ORDER BY id;

-- question: sizes
WITH measured AS (
    SELECT media_type, bytes AS value, row_number() OVER type_ AS ordinal,
        count(*) OVER (PARTITION BY media_type) AS total
    FROM pages WINDOW type_ AS (PARTITION BY media_type ORDER BY bytes))
SELECT media_type, max(total) AS pages, sum(value) AS bytes,
    min(value) FILTER (WHERE ordinal >= total * 0.5) AS p50, min(value) FILTER (WHERE ordinal >= total * 0.9) AS p90,
    min(value) FILTER (WHERE ordinal >= total * 0.95) AS p95, min(value) FILTER (WHERE ordinal >= total * 0.99) AS p99,
    max(value) AS max
FROM measured GROUP BY media_type ORDER BY pages DESC, media_type;

-- question: times
WITH last AS MATERIALIZED (SELECT max(id) AS id FROM main.visits GROUP BY resource),
timed AS (
    SELECT r.host, v.milliseconds AS value
    FROM last JOIN main.visits AS v ON v.id = last.id JOIN main.resources AS r ON r.id = v.resource
    WHERE v.status > 0),
measured AS (
    SELECT host, value, row_number() OVER (PARTITION BY host ORDER BY value) AS ordinal,
        count(*) OVER (PARTITION BY host) AS total
    FROM timed)
SELECT h.name AS host, max(total) AS answers,
    min(value) FILTER (WHERE ordinal >= total * 0.5) AS p50, min(value) FILTER (WHERE ordinal >= total * 0.9) AS p90,
    min(value) FILTER (WHERE ordinal >= total * 0.95) AS p95, min(value) FILTER (WHERE ordinal >= total * 0.99) AS p99,
    max(value) AS max
FROM measured AS m JOIN main.hosts AS h ON h.id = m.host GROUP BY m.host ORDER BY answers DESC, h.name;

-- question: alternates
SELECT DISTINCT t.url, t.state, t.outcome, t.id IN (SELECT id FROM listed) AS listed
FROM listed_html AS p CROSS JOIN main.links AS l ON l.source = p.id AND l.kind = 6
CROSS JOIN main.resources AS t ON t.id = l.target;

-- question: changes
WITH news AS (
    SELECT resource, min(id) AS visit, 'new' AS event, '' AS parts, NULL AS status, NULL AS bytes, NULL AS title,
        NULL AS since, min(visited_at) AS found_at
    FROM main.visits GROUP BY resource HAVING min(visited_at) >= :since
    UNION ALL
    SELECT resource, id, event, parts, status, bytes, title, since, found_at FROM main.history WHERE found_at >= :since)
SELECT r.url, n.event AS change, n.parts, n.status AS status_before, r.status, n.bytes AS bytes_before, r.bytes,
    n.title AS title_before, r.title, n.since AS visited_before, n.found_at AS visited_at
FROM news AS n JOIN main.resources AS r ON r.id = n.resource
WHERE r.role = 'page' ORDER BY n.found_at, r.id;

-- Contents of pages, read in slices: each starts where the last one ended.

-- question: texts
SELECT p.id, p.host, p.url, p.text_digest, t.body FROM listed_html AS p JOIN main.texts AS t ON t.resource = p.id
WHERE p.id > :after ORDER BY p.id LIMIT :slice;

-- question: sources
SELECT p.id, p.url, p.charset, s.body FROM pages AS p JOIN main.sources AS s ON s.resource = p.id
WHERE p.id > :after AND p.media_type = 'text/html' ORDER BY p.id LIMIT :slice;

-- question: hreflang sources
SELECT p.id, p.url, p.charset, s.body FROM listed_html AS p JOIN main.sources AS s ON s.resource = p.id
WHERE p.id > :after AND EXISTS (SELECT 1 FROM main.links AS l WHERE l.source = p.id AND l.kind = 6)
ORDER BY p.id LIMIT :slice;
