"""Files out of a web and into it.

Export: a store comes in, a table, a folder of pages or a web archive goes out.
Import: a folder or a web archive comes in, visits go into the store, through the same parsers as a crawl.

Central names
    `tables`         `Table`, `Column` and the writers: CSV, JSON lines, Parquet
    `export_tables`  links, resources, hosts, visits and ranks of a store as tables
    `export_files`   pages as files, with a manifest
    `export_warc`    pages as a WARC archive
    `atomic_file`    an export file that appears only when it is complete
    `manifest`       `ManifestEntry`: a line of the manifest; `rebuild_headers`: response headers from stored fields
    `file_names`     a URL as a file path, and back
    `file_page`      `FilePage`, `SkippedItem`, `Refusal`: results of reading a file or a record
    `folder`         pages from a folder
    `records`        records from a WARC or ARC file, damaged ones too
    `archive`        pages from those records
    `import_pages`   parses pages and stores them as visits
"""
