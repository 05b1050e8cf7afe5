package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
)

// An entry is what callers are told of a tool. Where its worker is they are not.
type entry struct {
	ToolID            durward.ToolID  `json:"tool_id"`
	DisplayName       string          `json:"display_name"`
	Description       string          `json:"description"`
	Kind              string          `json:"kind"`
	Capabilities      []string        `json:"capabilities"`
	TimeoutSec        float64         `json:"timeout_sec"`
	EgressAllowlist   []string        `json:"egress_allowlist"`
	TransportType     string          `json:"transport_type"`
	TransportEndpoint string          `json:"transport_endpoint"`
	InputSchemaRef    *string         `json:"input_schema_ref"`
	OutputSchemaRef   *string         `json:"output_schema_ref"`
	InputSchema       json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema      json.RawMessage `json:"output_schema,omitempty"`
}

// A listing is the catalogue as it is shown.
type listing struct {
	id, version, tag string
	entries          []entry // with their schemas
}

func list(d *domain.Domain) listing {
	l := listing{id: d.ID, version: d.Version, entries: []entry{}}
	for _, t := range d.Tools {
		e := entry{
			ToolID: t.ID, DisplayName: t.DisplayName, Description: t.Description, Kind: t.Kind,
			Capabilities: append([]string{}, t.Capabilities...), TimeoutSec: t.Timeout.Seconds(),
			EgressAllowlist: append([]string{}, t.Egress.Entries()...), TransportType: "http", TransportEndpoint: t.Transport.Endpoint,
			InputSchemaRef: orNull(t.InputRef), OutputSchemaRef: orNull(t.OutputRef),
		}
		if t.Input != nil {
			e.InputSchema = t.Input.Document()
		}
		if t.Output != nil {
			e.OutputSchema = t.Output.Document()
		}
		l.entries = append(l.entries, e)
	}
	// The time of a tool may be that of the policies.
	l.tag = fmt.Sprintf(`"sha256:%x"`, sha256.Sum256(append(text(l.entries), d.CatalogHash...)))
	return l
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// brief is the entry without its schemas.
func (e entry) brief() entry {
	e.InputSchema, e.OutputSchema = nil, nil
	return e
}

// showTools lists what there is, or what fits a search.
func (d *Door) showTools(w http.ResponseWriter, r *http.Request) error {
	if err := d.loaded(); err != nil {
		return err
	}
	a, err := askOf(r)
	if err != nil {
		return err
	}
	if d.unchanged(w, r) {
		return nil
	}
	found := d.listing.entries
	if a.words != nil {
		found = rank(found, a.words)
	}
	page, next := a.page(found)
	if !a.schemas {
		page = slices.Clone(page)
		for i := range page {
			page[i] = page[i].brief()
		}
	}
	if a.bare {
		write(w, http.StatusOK, append(text(page), '\n'))
		return nil
	}
	write(w, http.StatusOK, append(text(struct {
		DomainID   string  `json:"domain_id"`
		Version    string  `json:"version"`
		Tools      []entry `json:"tools"`
		NextCursor string  `json:"next_cursor,omitempty"`
	}{d.listing.id, d.listing.version, page, next}), '\n'))
	return nil
}

// showTool tells of one tool all there is to tell.
func (d *Door) showTool(w http.ResponseWriter, r *http.Request) error {
	if err := d.loaded(); err != nil {
		return err
	}
	id := runOf(r).tool
	at := slices.IndexFunc(d.listing.entries, func(e entry) bool { return e.ToolID == id })
	if at < 0 {
		return &durward.Error{Reason: durward.ToolNotFound, Op: "find"}
	}
	if d.unchanged(w, r) {
		return nil
	}
	write(w, http.StatusOK, append(text(d.listing.entries[at]), '\n'))
	return nil
}

// showDomain tells which domain is served.
func (d *Door) showDomain(w http.ResponseWriter, _ *http.Request) error {
	if err := d.loaded(); err != nil {
		return err
	}
	write(w, http.StatusOK, append(text(struct {
		DomainID string `json:"domain_id"`
		Version  string `json:"version"`
	}{d.listing.id, d.listing.version}), '\n'))
	return nil
}

// unchanged answers who has seen this catalogue already.
func (d *Door) unchanged(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("ETag", d.listing.tag)
	w.Header().Set("Cache-Control", "no-cache")
	for _, header := range r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(header, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == d.listing.tag || tag == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// An ask is what the query of a listing says.
type ask struct {
	words         []string // nil lists all, in the order of the manifest
	bare, schemas bool
	limit, from   int
}

func askOf(r *http.Request) (ask, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return ask{}, malformedQuery("the query is malformed")
	}
	a := ask{limit: -1}
	for name, values := range query {
		value := values[0]
		if len(values) > 1 {
			return ask{}, malformedQuery("a name stands in the query twice")
		}
		switch name {
		case "format":
			if value != "list" && value != "object" {
				return ask{}, malformedQuery("format is list or object")
			}
			a.bare = value == "list"
		case "schemas":
			if value != "1" && value != "0" {
				return ask{}, malformedQuery("schemas is 1 or 0")
			}
			a.schemas = value == "1"
		case "q":
			a.words = strings.Fields(strings.ToLower(value))
		case "limit":
			if a.limit, err = strconv.Atoi(value); err != nil || a.limit < 1 {
				return ask{}, malformedQuery("limit is a whole number from 1")
			}
		case "cursor":
			if a.from, err = strconv.Atoi(value); err != nil || a.from < 0 {
				return ask{}, malformedQuery("cursor is none that this gateway gave")
			}
		}
	}
	return a, nil
}

func malformedQuery(what string) error {
	return &durward.Error{Reason: durward.BadCall, Op: "decode", Err: errors.New(what)}
}

// page cuts out what was asked for, and gives the cursor of the next page, or "".
func (a ask) page(found []entry) (page []entry, next string) {
	from := min(a.from, len(found))
	to := len(found)
	if a.limit > 0 && a.limit < to-from {
		to = from + a.limit
		next = strconv.Itoa(to)
	}
	return found[from:to:to], next
}

// rank gives the entries that every word is found in, the best first: a word in the id
// counts most, then one in the name, then in the rest.
func rank(entries []entry, words []string) []entry {
	type scored struct {
		entry
		score int
	}
	var found []scored
	for _, e := range entries {
		if score := e.score(words); score > 0 || len(words) == 0 {
			found = append(found, scored{e, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	ranked := make([]entry, len(found))
	for i, f := range found {
		ranked[i] = f.entry
	}
	return ranked
}

// score is zero where one of the words is not to be found.
func (e entry) score(words []string) int {
	total := 0
	for _, word := range words {
		best := 0
		for _, part := range []struct {
			text   string
			weight int
		}{
			{string(e.ToolID), 8}, {e.DisplayName, 4}, {strings.Join(e.Capabilities, "\n"), 2}, {e.Description, 1},
		} {
			if strings.Contains(strings.ToLower(part.text), word) {
				best += part.weight
			}
		}
		if best == 0 {
			return 0
		}
		total += best
	}
	return total
}
