"""Real webs to crawl in tests, and an independent walk to compare with.

debian     where Debian's documentation packages and nginx are, and how to get them
nginx      serve folders as sites, as the wide world does
heritrix   the Heritrix self-test sites of ../shared/suites
served     pages written in the test itself
generated  a web of any size, made up by number
walk       what is reachable, by another parser and another client than Gossamer's
"""
