// Colly on the same site, for comparison: links extracted and followed only, in memory. Prints one line of JSON.
package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/gocolly/colly/v2"
)

func main() {
	start, err := url.Parse(os.Args[1])
	if err != nil {
		panic(err)
	}
	var pages atomic.Int64
	collector := colly.NewCollector(colly.AllowedDomains(start.Host, start.Hostname()), colly.Async(true))
	if err := collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 32}); err != nil {
		panic(err)
	}
	collector.OnHTML("a[href]", func(element *colly.HTMLElement) {
		// Without its fragment: the same page with another one would be fetched again.
		link, _, _ := strings.Cut(element.Request.AbsoluteURL(element.Attr("href")), "#")
		_ = element.Request.Visit(link) // the error says that it was visited, or is elsewhere
	})
	collector.OnResponse(func(response *colly.Response) {
		if strings.HasPrefix(response.Headers.Get("Content-Type"), "text/html") {
			pages.Add(1)
		}
	})
	if err := collector.Visit(os.Args[1]); err != nil {
		panic(err)
	}
	collector.Wait()
	fmt.Printf("{\"pages\": %d}\n", pages.Load())
}
