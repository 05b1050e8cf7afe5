package firecrawl

import (
	"context"
	"encoding/json"
)

// An output is what the caller gets.
type output struct {
	SourceURL string `json:"source_url"`
	Items     []item `json:"items"`
	Stats     stats  `json:"stats"`
}

type item struct {
	URL     string `json:"url"`
	Title   string `json:"title"`
	Content string `json:"content"`
	Format  string `json:"format"`
}

type stats struct {
	Pages       int         `json:"pages"`
	Total       json.Number `json:"total,omitempty"`
	CreditsUsed json.Number `json:"credits_used,omitempty"`
	FailedPages int         `json:"failed_pages,omitempty"`
	Truncated   bool        `json:"truncated,omitempty"`
}

// mostBytes is how much text of pages a call may gather.
const mostBytes = 32 << 20

// A harvest gathers the pages of one call, up to as many as were asked for.
type harvest struct {
	in        input
	documents []document
	bytes     int
	truncated bool
}

// add takes pages and reports whether there is no room for more. What does not fit is
// left out, and the output says so.
func (h *harvest) add(list []document) (full bool) {
	for _, d := range list {
		if h.full() || h.bytes+d.size() > mostBytes {
			h.truncated = true
			return true
		}
		h.documents = append(h.documents, d)
		h.bytes += d.size()
	}
	return h.full()
}

func (h *harvest) full() bool { return h.in.Mode == modeCrawl && len(h.documents) >= h.in.pages }

// output gives what was gathered. Its error is that of ctx, once it ended.
func (h *harvest) output(ctx context.Context, p progress) (output, error) {
	o := output{
		SourceURL: h.in.URL, Items: []item{},
		Stats: stats{Pages: len(h.documents), Total: p.total, CreditsUsed: p.credits, Truncated: h.truncated},
	}
	for _, d := range h.documents {
		if d.failed() {
			o.Stats.FailedPages++
			continue
		}
		items, err := h.itemsOf(ctx, d)
		if err != nil {
			return o, err
		}
		o.Items = append(o.Items, items...)
	}
	return o, nil
}

// itemsOf gives a page in each format that was asked for and that the API gave.
func (h *harvest) itemsOf(ctx context.Context, d document) (list []item, err error) {
	url := d.url
	if url == "" {
		url = h.in.URL
	}
	for _, format := range h.in.wanted() {
		content := d.markdown
		if format == formatHTML {
			content = d.html
		}
		if content == nil {
			continue
		}
		text := *content
		if format == formatText {
			if text, err = plainText(ctx, text); err != nil {
				return nil, err
			}
		}
		list = append(list, item{URL: url, Title: d.title, Content: text, Format: format})
	}
	return list, nil
}
