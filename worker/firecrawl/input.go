package firecrawl

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/worker"
)

const (
	modeScrape = "scrape"
	modeCrawl  = "crawl"

	longestURL   = 2048
	defaultPages = 10
	mostPages    = 1000

	formatMarkdown = "markdown"
	formatHTML     = "html"
	formatText     = "text"
)

// An input is what the caller asks for.
type input struct {
	URL      string       `json:"url"`
	Mode     string       `json:"mode"`
	MaxPages *json.Number `json:"max_pages"`
	Formats  []string     `json:"formats"`
	// Partial asks for the pages so far where the time is not enough for all.
	Partial bool `json:"partial"`

	pages int // what MaxPages means
}

func parseInput(c worker.Call) (in input, err error) {
	if err := c.Decode(&in); err != nil {
		return in, err
	}
	if err := checkURL(in.URL); err != nil {
		return in, err
	}
	switch in.Mode {
	case "":
		in.Mode = modeScrape
	case modeScrape, modeCrawl:
	default:
		return in, invalid("mode is neither scrape nor crawl")
	}
	in.pages = defaultPages
	if in.MaxPages != nil && in.Mode == modeCrawl {
		pages, err := strconv.ParseFloat(in.MaxPages.String(), 64)
		if err != nil || pages != math.Trunc(pages) || pages < 1 || pages > mostPages {
			return in, invalid("max_pages is not a whole number from 1 to 1000")
		}
		in.pages = int(pages)
	}
	return in, in.checkFormats()
}

func checkURL(text string) error {
	if text == "" {
		return invalid("url is missing")
	}
	if utf8.RuneCountInString(text) > longestURL {
		return invalid("url is longer than 2048 characters")
	}
	u, err := netguard.ParseURL(text)
	if err != nil {
		e := invalid("url is not a URL of http or https")
		e.Err = durward.AsError(err).Err
		return e
	}
	if !netguard.IsHTTP(u) {
		return invalid("url is not a URL of http or https")
	}
	return nil
}

func (in input) checkFormats() error {
	if in.Formats != nil && len(in.Formats) == 0 {
		return invalid("formats is empty")
	}
	for i, f := range in.Formats {
		switch {
		case f != formatMarkdown && f != formatHTML && f != formatText:
			return invalid("formats holds something else than markdown, html and text")
		case slices.Contains(in.Formats[:i], f):
			return invalid("formats holds " + f + " twice")
		}
	}
	return nil
}

// wanted lists the formats that the caller gets.
func (in input) wanted() []string {
	if in.Formats == nil {
		return []string{formatMarkdown}
	}
	return in.Formats
}

// job is what the API is asked for: plain text is made here, of markdown.
func (in input) job() job {
	j := job{url: in.URL, pages: in.pages}
	for _, f := range in.Formats {
		if f == formatText {
			f = formatMarkdown
		}
		if !slices.Contains(j.formats, f) {
			j.formats = append(j.formats, f)
		}
	}
	return j
}

func invalid(message string) *worker.Error {
	return &worker.Error{Code: worker.ValidationError, Message: message}
}
