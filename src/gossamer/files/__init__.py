"""What goes out of a web and into it, other than over the network.

Out: `everything` makes tables of what is stored and `tables` writes them, `export` writes pages as files, `warc` as a
web archive. In: `folder` finds pages in files (`names` maps URLs to names and back), `records` and `archive` in web
archives, and `take` puts them through the same parsers and store as a crawl.
"""
