"""TODO crawl."""
