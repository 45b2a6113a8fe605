"""The way of a URL: from a seed or a link to a stored visit.

Comes in: what was asked (`crawler.Plan`), work from the store. Goes out: visits, written to the store and yielded.

Central names: `crawler.CrawlLoop`, the loop on one screen; `frontier.Frontier`, when which host may be asked;
`policy.Admissions`, what to do with a URL; `fetch.Fetcher`, URL -> bytes; `parsers.ParserPool`, bytes -> `model.Page`.
"""
