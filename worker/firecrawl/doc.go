// Package firecrawl fetches web pages with the Firecrawl API, as a tool for package worker.
//
//	o, err := firecrawl.FromEnv(os.LookupEnv)
//	tool, err := firecrawl.New(o)
//	err = worker.Run(ctx, tool, worker.Options{})
//
// The tool takes
//
//	{"url": "https://example.com", "mode": "crawl", "max_pages": 10, "formats": ["markdown", "html", "text"]}
//
// of which only url is needed: mode is scrape (one page, the default) or crawl (that page
// and those that it leads to). It gives an item for each page and format:
//
//	{"source_url": "https://example.com", "items": [{"url": "…", "title": "…", "content": "…", "format": "markdown"}], "stats": {"pages": 1}}
//
// Whatever fails at the API is an UPSTREAM_ERROR; its details tell programs more. A crawl
// that the deadline ends, or a caller who leaves, is cancelled at the API, too, so that it
// costs no more; with "partial": true the caller gets the pages so far.
package firecrawl
