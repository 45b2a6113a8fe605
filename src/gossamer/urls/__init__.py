"""URLs: one spelling for each, and which of them a crawl may visit.

In: hrefs, typed text, robots.txt files, sitemaps. Out: canonical URLs, their keys and digests, verdicts with reasons.

    canonical  canonicalize any href; authority, origin, key and digest of a canonical URL; `is_loopback`
    scope      Scope: which URLs belong to a crawl
    robots     RobotsRules (robots.txt by RFC 9309) and the robots directives of pages
    sitemap    parse_sitemap: the URLs that a sitemap or feed lists
"""
