"""A response -> the page after its scripts ran, in browsers without a network.

In: `model.RenderJob`, the response of a page. Out: `model.RenderedPage`, its DOM as HTML with its routes and requests.
Every request that a page makes comes out as a `model.PageRequest`, and the crawl answers it with a `PageResponse`.

    pool              RendererPool: the renderer processes, as the coordinator sees them
    options           RenderOptions: what every renderer process gets at its start
    browser_search    find_browser: the browser on this machine, or the one that the user named
    isolation         the layers that keep a browser off the network, and which of them work here
    messages          the frames between the coordinator and a renderer process

In a renderer process:

    renderer_process  the process: one browser, its pages, their requests
    browser_process   BrowserProcess: start and end of a browser, with its limits
    browser_command   its switches and its environment
    namespaces        the system calls of its isolation; landlock: those about files
    homes             its private HOME, removed afterwards
    pages/            the browser's tabs and what runs in them
"""
