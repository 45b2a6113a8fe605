"""Pages as files and back: a stored web goes out as a folder that people and other tools can read, and comes in again.

`names` maps a URL to a file's name and back, `export` writes the folder, `take` reads one (any folder of files will do)
and puts its pages through the same parsers and store as a crawl.
"""
