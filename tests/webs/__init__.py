"""Real webs to crawl in tests, and an independent walk to compare with.

debian     find and get Debian's documentation packages and nginx
nginx      serve folders as sites with a real nginx
heritrix   the Heritrix self-test sites of ../shared/suites
served     serve pages that a test defines
changing   a documentation tree that changes
delayed    many small sites with a Crawl-delay
museum     a site drawn by scripts in the browser, and its twin in plain HTML
generated  a web of any size, generated from page numbers
walk       what is reachable, with another parser and another client than Gossamer's
"""
