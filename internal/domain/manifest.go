package domain

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/schema"
)

// A Manifest is manifest.yaml as it was written. Its tools still lack their schemas and what
// the policies say.
type Manifest struct {
	ID, Version string
	// IDWhere is the place of the id.
	IDWhere durward.Position
	Tools   []*Tool
	// Schemas are those that the tools name.
	Schemas []SchemaRef

	// ids are those of all entries, whatever else is wrong with these.
	ids []string
}

// A SchemaRef is one mention of a schema in the manifest.
type SchemaRef struct {
	// Path is as it was written, relative to the manifest's folder.
	Path string
	// Field is the member that names it, and Where its place.
	Field string
	Where durward.Position
	into  **schema.Schema
}

// Use gives the tool its schema.
func (s SchemaRef) Use(compiled *schema.Schema) { *s.into = compiled }

// ParseManifest reads manifest.yaml; file stands in every place. Where there are problems the
// manifest is of no use but to find more of them with [Join]; it is nil where it cannot be read
// at all. ParseManifest keeps nothing of data and may be called concurrently.
func ParseManifest(file string, data []byte) (*Manifest, config.Problems) {
	r, n := read(file, data)
	if n == nil {
		return nil, r.problems()
	}
	m := &Manifest{Tools: []*Tool{}}
	r.open(n, config.Fields{
		"domain_id": func(n *config.Node) {
			m.IDWhere = line(n.Where)
			r.checked(&m.ID, checkDomainID)(n)
		},
		"version": func(n *config.Node) { m.Version = r.version(n) },
		"tools": func(n *config.Node) {
			seen := map[string]durward.Position{}
			r.List(n, func(item *config.Node) { r.tool(m, item, len(m.Tools), seen) })
		},
	})
	r.need(n, "domain_id", "version", "tools")
	return m, r.problems()
}

// version takes a number as it is written.
func (r *reader) version(n *config.Node) string {
	if n.Kind == config.Int || n.Kind == config.Float {
		return n.Text
	}
	text, ok := r.String(n)
	if ok && text == "" {
		r.wrong(n, "is empty")
	}
	return text
}

func (r *reader) tool(m *Manifest, n *config.Node, index int, seen map[string]durward.Position) {
	t := &Tool{
		Kind: kindWorker, Capabilities: []string{}, Place: "tools[" + strconv.Itoa(index) + "]", Where: line(n.Where),
		Transport: Transport{Endpoint: "/run", MaxAttempts: 1}, EgressWhere: line(n.Where),
	}
	m.Tools = append(m.Tools, t)
	ref := func(path *string, into **schema.Schema) func(*config.Node) {
		return func(n *config.Node) {
			r.text(path)(n)
			if *path != "" {
				m.Schemas = append(m.Schemas, SchemaRef{Path: *path, Field: n.Path, Where: line(n.Where), into: into})
			} else if n.Kind == config.String {
				r.wrong(n, "is empty")
			}
		}
	}
	r.open(n, config.Fields{
		"tool_id":      func(n *config.Node) { t.ID = r.toolID(m, n, seen) },
		"display_name": r.text(&t.DisplayName),
		"description":  r.text(&t.Description),
		"kind":         func(n *config.Node) { r.Word(n, kindWorker) },
		"capabilities": func(n *config.Node) { r.texts(n, &t.Capabilities) },
		"transport":    func(n *config.Node) { r.transport(n, &t.Transport) },
		"timeout_sec": func(n *config.Node) {
			t.TimeoutRule = n.Path
			r.seconds(&t.Timeout, &t.TimeoutWhere)(n)
		},
		"input_schema_ref":  ref(&t.InputRef, &t.Input),
		"output_schema_ref": ref(&t.OutputRef, &t.Output),
		"egress_allowlist": func(n *config.Node) {
			t.EgressWhere = line(n.Where)
			t.Egress = r.allowlist(n)
		},
		"upstreams": func(n *config.Node) { t.Upstreams = r.targets(n) },
		"retry": func(n *config.Node) {
			r.Fields(n, config.Fields{"max_attempts": number(r, &t.Transport.MaxAttempts, 1, maxAttempts)})
			r.need(n, "max_attempts")
		},
	})
	r.need(n, "tool_id", "transport")
	if t.DisplayName == "" {
		t.DisplayName = string(t.ID)
	}
}

const (
	kindWorker  = "service_worker"
	maxAttempts = 10
	maxIDBytes  = 128
)

// toolID takes the id of an entry, which no other one has.
func (r *reader) toolID(m *Manifest, n *config.Node, seen map[string]durward.Position) durward.ToolID {
	var id string
	r.checked(&id, checkToolID)(n)
	if id == "" {
		return ""
	}
	m.ids = append(m.ids, id)
	if first, ok := seen[id]; ok {
		r.wrong(n, fmt.Sprintf("the tool %q is there already (line %d)", id, first.Line))
	} else {
		seen[id] = n.Where
	}
	return durward.ToolID(id)
}

func (r *reader) texts(n *config.Node, into *[]string) {
	r.List(n, func(item *config.Node) {
		if text, ok := r.String(item); ok {
			*into = append(*into, text)
		}
	})
}

// The forms of names.
var (
	toolIDForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`) })
	domainIDForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]+$`) })
)

func checkToolID(id string) (string, error) {
	if len(id) > maxIDBytes || !toolIDForm().MatchString(id) {
		return id, fmt.Errorf("a tool's id is words of letters, digits, _ and - with dots between them, of at most %d characters", maxIDBytes)
	}
	return id, nil
}

// CheckID refuses what no domain may be called.
func CheckID(id string) error {
	_, err := checkDomainID(id)
	return err
}

func checkDomainID(id string) (string, error) {
	if len(id) > maxIDBytes || !domainIDForm().MatchString(id) {
		return id, errors.New("a domain's id is 1 to " + strconv.Itoa(maxIDBytes) + " letters, digits and characters out of _.-")
	}
	return id, nil
}
