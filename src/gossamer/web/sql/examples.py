"""Statements to begin with; they run on both back-ends."""

from __future__ import annotations

EXAMPLES = {
    "Pages by state": "SELECT state, count(*) AS pages\nFROM resources\nGROUP BY state\nORDER BY pages DESC",
    "Broken links with the pages that have them": (
        "SELECT target.url, target.status, source.url AS linked_from, links.anchor\n"
        "FROM links\n"
        "JOIN resources AS target ON target.id = links.target\n"
        "JOIN resources AS source ON source.id = links.source\n"
        "WHERE target.state IN ('gone', 'failed')\n"
        "ORDER BY target.url\n"
        "LIMIT 100"
    ),
    "Pages that most others link to": (
        "SELECT resources.url, backlinks.number\n"
        "FROM backlinks\n"
        "JOIN resources ON resources.id = backlinks.resource\n"
        "ORDER BY backlinks.number DESC\n"
        "LIMIT 20"
    ),
    "Hosts with the most pages": "SELECT name, pages, failed, known\nFROM hosts\nORDER BY pages DESC\nLIMIT 20",
    "Pages with the same title": (
        "SELECT title, count(*) AS pages\n"
        "FROM resources\n"
        "WHERE state = 'visited' AND title <> ''\n"
        "GROUP BY title\n"
        "HAVING count(*) > 1\n"
        "ORDER BY pages DESC\n"
        "LIMIT 20"
    ),
    "Slowest visits": (
        "SELECT resources.url, visits.milliseconds, visits.bytes\n"
        "FROM visits\n"
        "JOIN resources ON resources.id = visits.resource\n"
        "ORDER BY visits.milliseconds DESC\n"
        "LIMIT 20"
    ),
    "Media types": (
        "SELECT media_type, count(*) AS resources, sum(bytes) AS bytes\n"
        "FROM resources\n"
        "WHERE state = 'visited'\n"
        "GROUP BY media_type\n"
        "ORDER BY resources DESC"
    ),
}
