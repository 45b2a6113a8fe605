"""Code that benchmarks share.

contest      run and measure other programs
report       write measurements as JSON and Markdown
site_sample  a part of a real site that works as a site
"""
