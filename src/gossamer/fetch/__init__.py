"""URL -> bytes: HTTP requests over libcurl, hundreds at a time in one thread.

In: `model.Request`. Out: `model.FetchResult`, whose `Outcome` says how it ended.

    fetcher      Fetcher: starts transfers, follows redirects of robots.txt, hands out results
    transfer     Transfer: one libcurl handle with its limits
    response     judge_head: what a response's header means for the request
    guard        refusal: why an address must not be connected to
    credentials  host_headers: the headers that only one host gets
"""
