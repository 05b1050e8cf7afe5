package domain

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// A PolicyFile is policies.yaml as it was written, with the defaults filled in.
type PolicyFile struct {
	Policies
	// TimeoutWhere is the place of the default timeout; it is nowhere where nobody wrote it.
	TimeoutWhere durward.Position
	perTool      []toolLimit
}

// A toolLimit is how many calls of one tool may be at its worker at once.
type toolLimit struct {
	tool  string
	most  int
	where durward.Position
}

// The bounds of what may be written.
const (
	maxCalls = 100_000
	maxBytes = 1 << 30
)

// timeoutRule names the default timeout.
const timeoutRule = "timeouts.default_tool_timeout_sec"

// logLevels are the levels of the log.
var logLevels = []string{"DEBUG", "INFO", "WARNING", "ERROR"}

// ParsePolicies reads policies.yaml; an empty one means the defaults. Like [ParseManifest] it
// gives nil where the document cannot be read at all.
func ParsePolicies(file string, data []byte) (*PolicyFile, config.Problems) {
	r, n := read(file, data)
	if n == nil {
		return nil, r.problems()
	}
	p := &PolicyFile{Policies: Policies{
		MaxInflight: 8, MaxQueue: 64, QueueTimeout: 30 * time.Second, DefaultTimeout: 60 * time.Second,
		DenyEgress: true, LogLevel: "INFO", MaxRequestBytes: 1 << 20, MaxResponseBytes: 16 << 20,
	}}
	if n.Kind != config.Null {
		r.policies(n, p)
	}
	return p, r.problems()
}

func (r *reader) policies(n *config.Node, p *PolicyFile) {
	section := func(fields config.Fields) func(*config.Node) {
		return func(n *config.Node) {
			if n.Kind != config.Null { // all that was in it is commented out
				r.Fields(n, fields)
			}
		}
	}
	var nowhere durward.Position
	r.open(n, config.Fields{
		"concurrency": section(config.Fields{
			"max_inflight":          number(r, &p.MaxInflight, 1, maxCalls),
			"max_queue":             number(r, &p.MaxQueue, 0, maxCalls),
			"queue_timeout_sec":     r.seconds(&p.QueueTimeout, &nowhere),
			"per_tool_max_inflight": func(n *config.Node) { r.perTool(n, p) },
		}),
		"timeouts": section(config.Fields{"default_tool_timeout_sec": r.seconds(&p.DefaultTimeout, &p.TimeoutWhere)}),
		"network": section(config.Fields{"default_egress_policy": func(n *config.Node) {
			if word, ok := r.Word(n, "deny", "allow"); ok {
				p.DenyEgress = word == "deny"
			}
		}}),
		"logging": section(config.Fields{
			"level": r.checked(&p.LogLevel, logLevel),
			"include_request_body": func(n *config.Node) {
				if include, ok := r.Bool(n); ok {
					p.IncludeRequestBody = include
				}
			},
		}),
		"limits": section(config.Fields{
			"max_request_bytes":  number(r, &p.MaxRequestBytes, 1, maxBytes),
			"max_response_bytes": number(r, &p.MaxResponseBytes, 1, maxBytes),
		}),
	})
}

func (r *reader) perTool(n *config.Node, p *PolicyFile) {
	if n.Kind == config.Null {
		return
	}
	r.Map(n, func(f config.Field) {
		limit := toolLimit{tool: f.Name, where: line(f.Where)}
		number(r, &limit.most, 1, maxCalls)(f.Value)
		p.perTool = append(p.perTool, limit)
	})
}

func logLevel(text string) (string, error) {
	level := strings.ToUpper(text)
	if !slices.Contains(logLevels, level) {
		return "INFO", errors.New("must be one of " + strings.Join(logLevels, ", "))
	}
	return level, nil
}
