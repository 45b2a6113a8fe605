-- Statements of questions that both back-ends answer in the same words, from the shared views of each back-end.

-- question: redirects
SELECT url, status, hops, path AS chain, final, final_status, final_outcome, inlinks FROM redirections ORDER BY id;

-- question: redirected links
SELECT url, status, final, final_status, inlinks FROM redirections
WHERE hops = 1 AND inlinks > 0 AND final_state NOT IN ('gone', 'failed') ORDER BY inlinks DESC, id;

-- question: redirect chains
SELECT url, hops, path AS chain, final, final_status, inlinks FROM redirections
WHERE hops > 1 AND final_state NOT IN ('gone', 'failed') ORDER BY hops DESC, id;

-- question: redirect loops
SELECT url, hops, CASE WHEN final_reason = '' THEN path ELSE final_reason END AS chain, inlinks FROM redirections
WHERE final_outcome IN ('redirect loop', 'too many redirects') OR hops = 64 ORDER BY id;

-- question: redirects to errors
SELECT url, hops, path AS chain, final, final_status, final_outcome, inlinks FROM redirections
WHERE hops > 0 AND final_state IN ('gone', 'failed') AND final_outcome NOT IN ('redirect loop', 'too many redirects')
ORDER BY id;

-- question: not listed
SELECT url, status, why AS reason, CASE WHEN why = 'canonical is another page' THEN canonical ELSE reason END AS detail
FROM unlisted ORDER BY id;

-- question: missing titles
SELECT url, depth FROM listed_html WHERE title = '' ORDER BY id;

-- question: missing descriptions
SELECT url, title, depth FROM listed_html WHERE description = '' ORDER BY id;

-- question: sitemap entries not listed
SELECT e.sitemap, u.url, u.status, u.why AS reason FROM entries AS e JOIN unlisted AS u ON u.id = e.target
ORDER BY e.sitemap, u.id;

-- question: cut pages
SELECT url, cut, bytes, media_type FROM pages WHERE cut <> '' ORDER BY id;

-- question: script pages
SELECT p.url, p.script_sign AS sign, p.rendered, coalesce(r.plain_words, 0) AS plain_words,
    coalesce(r.words, 0) AS words, coalesce(r.plain_links, 0) AS plain_links, coalesce(r.links, 0) AS links
FROM pages AS p LEFT JOIN renderings AS r ON r.resource = p.id
WHERE p.script_sign <> '' OR p.rendered <> '' AND (r.words > r.plain_words OR r.links > r.plain_links) ORDER BY p.id;

-- question: rendered reasons
SELECT rendered AS reason, count(*) AS pages FROM resources WHERE rendered <> '' GROUP BY rendered
ORDER BY pages DESC, reason;

-- Faster ways to count the rows of an answer.

-- count: link counts
SELECT count(*) FROM pages;
