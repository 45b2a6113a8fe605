"""Small modules that every package may use; they import nothing of Gossamer.

cache        caches with two generations, in bounded space
cores        available_cores: how many cores this process may use
display      foreign text made safe to show; amounts and times as people read them
durable      names of files that survive a power cut
headers      parse_media_type: the type in a Content-Type
locations    where a web is: a directory, or the URL of a database
page_budget  what one page may cost at each stage
"""
