"""Pages in the tabs of one browser, in a renderer process.

In: `messages.RunPage` and the crawl's answers. Out: requests of pages, and `model.RenderedPage`.

    cdp            CdpConnection: the Chrome DevTools Protocol over two pipes
    browser_tabs   BrowserTabs: which tab takes a page, and which page an event belongs to
    tab            Tab: a tab of one host, used for one page after another
    page_run       PageRun: the life of one page
    traffic        PageTraffic: its requests, answers and open transfers
    page_requests  what happens to each request of a page
    budget         RenderBudget: what a page may take
    snapshot       SnapshotReader: the document as HTML, read by `quiet.js` and `snapshot.js` in the page
"""
