package render

import (
	"mime"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// WantsHTML reports whether the values of an Accept header put text/html ahead of
// Markdown and of plain text: by a higher quality, or by standing earlier at the same
// one. Who accepts anything gets Markdown, and so does who cannot be understood.
func WantsHTML(accept []string) bool {
	var html, other float64 // the best quality so far
	for _, element := range elements(strings.Join(accept, ",")) {
		kind, quality, ok := mediaRange(element)
		if !ok {
			return false
		}
		switch kind {
		case "text/html":
			// An equal one must have come first, so it must beat what is there.
			if quality > other {
				html = max(html, quality)
			}
		case "text/markdown", "text/x-markdown", "text/plain":
			other = max(other, quality)
		}
	}
	return html > 0 && html >= other
}

// mediaRange reads one element: "text/html;level=1;q=0.8".
func mediaRange(element string) (kind string, quality float64, ok bool) {
	kind, params, err := mime.ParseMediaType(element)
	if err != nil {
		return "", 0, false
	}
	if kind, subtype, ok := strings.Cut(kind, "/"); !ok || kind == "" || subtype == "" {
		return "", 0, false
	}
	q, given := params["q"]
	if !given {
		return kind, 1, true
	}
	if !qualityValue().MatchString(q) {
		return "", 0, false
	}
	quality, err = strconv.ParseFloat(q, 64)
	return kind, quality, err == nil
}

var qualityValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$`)
})

// elements splits a list at the commas outside of quoted strings, and drops what is
// empty.
func elements(list string) []string {
	var found []string
	quoted, escaped, start := false, false, 0
	for i := 0; i <= len(list); i++ {
		switch {
		case i == len(list) || list[i] == ',' && !quoted:
			if e := strings.Trim(list[start:i], " \t"); e != "" {
				found = append(found, e)
			}
			start = i + 1
		case escaped:
			escaped = false
		case quoted && list[i] == '\\':
			escaped = true
		case list[i] == '"':
			quoted = !quoted
		}
	}
	return found
}
