package hubconfig

import (
	"encoding/hex"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// extrasName is the member of a server, or of the file, that holds what is durward's own.
const extrasName = "x-gateway"

// The bounds of what may be written.
const (
	maxConcurrency = 1000
	maxDelayMs     = 3_600_000
	maxKeptMs      = 7 * 24 * 3_600_000
	maxEntries     = 1_000_000
	maxRefresh     = 365 * 24 * 3600
)

// extras reads what is durward's own of a server.
func (r *reader) extras(n *config.Node, s *Server, text []byte) {
	r.Fields(n, config.Fields{
		"allowTools":    r.texts(&s.AllowTools, filled),
		"denyTools":     r.texts(&s.DenyTools, filled),
		"pathPolicy":    r.word(&s.PathPolicy, "enforce", "off"),
		"pathArgs":      r.texts(&s.PathArgs, checkPathArg),
		"fileServer":    r.flag(&s.FileServer),
		"parseJsonText": r.flag(&s.ParseJSONText),
		"concurrency": func(n *config.Node) {
			if most, ok := r.Int(n, 1, maxConcurrency); ok {
				s.Concurrency = int(most)
			}
		},
		"restart": func(n *config.Node) { r.restart(n, &s.Restart) },
		"cache":   func(n *config.Node) { r.cache(n, s) },
		"toolHashes": func(n *config.Node) {
			s.ToolHashes = r.byTool(n, hashOf, "is no SHA-256: write sha256: and 64 digits from 0 to f")
		},
		"rename":     func(n *config.Node) { r.rename(n, s) },
		"offer":      r.words(&s.Offer, "elicitation", "sampling"),
		"inheritEnv": r.texts(&s.InheritEnv, func(name string) string { return checkVariable(name, "") }),
		"sandbox": func(n *config.Node) {
			_, err := policy.Read(n)
			r.Include(err)
			s.Sandbox, s.SandboxWhere = append(jsonRaw{}, raws(text)["sandbox"]...), line(n.Where)
		},
	})
}

func filled(text string) string {
	if text == "" || strings.IndexByte(text, 0) >= 0 {
		return "is empty, or holds a NUL"
	}
	return ""
}

// checkPathArg takes the name of a member, or a JSON pointer (RFC 6901).
func checkPathArg(text string) string {
	if text == "" {
		return "is empty"
	}
	escapes := strings.NewReplacer("~0", "", "~1", "")
	if text[0] == '/' && strings.Contains(escapes.Replace(text), "~") {
		return "is no JSON pointer: ~ is written ~0"
	}
	return ""
}

func (r *reader) restart(n *config.Node, into *Restart) {
	word := r.word(&into.Policy, "always", "on-failure", "never")
	if n.Kind != config.Map {
		word(n)
		return
	}
	r.Fields(n, config.Fields{
		"policy":    word,
		"initialMs": r.ms(&into.Initial, maxDelayMs),
		"maxMs":     r.ms(&into.Max, maxDelayMs),
	})
	if n.Get("maxMs") == nil {
		into.Max = max(into.Max, into.Initial)
	}
	if n.Get("initialMs") == nil {
		into.Initial = min(into.Max, into.Initial)
	}
	if into.Max < into.Initial {
		r.wrong(n, "maxMs is less than initialMs")
	}
}

func (r *reader) ms(into *time.Duration, most int64) func(*config.Node) {
	return func(n *config.Node) {
		if ms, ok := r.Int(n, 1, most); ok {
			*into = time.Duration(ms) * time.Millisecond
		}
	}
}

// defaultEntries is how many results are kept where nobody says.
const defaultEntries = 1000

func (r *reader) cache(n *config.Node, s *Server) {
	c := &Cache{Keep: Keep{MaxEntries: defaultEntries}, Tools: map[string]Keep{}}
	var tools *config.Node
	fields := r.keep(&c.Keep)
	fields["private"] = r.flag(&c.Private)
	fields["tools"] = func(n *config.Node) { tools = n }
	r.Fields(n, fields)
	if tools != nil {
		r.Map(tools, func(f config.Field) {
			own := c.Keep
			r.Fields(f.Value, r.keep(&own))
			if own.TTL == 0 {
				r.need(f.Value, "ttlMs")
			}
			c.Tools[f.Name] = own
		})
	} else {
		r.need(n, "ttlMs")
	}
	s.Cache = c
}

func (r *reader) keep(into *Keep) config.Fields {
	return config.Fields{
		"ttlMs": r.ms(&into.TTL, maxKeptMs),
		"maxEntries": func(n *config.Node) {
			if most, ok := r.Int(n, 1, maxEntries); ok {
				into.MaxEntries = int(most)
			}
		},
	}
}

func (r *reader) rename(n *config.Node, s *Server) {
	s.Rename = r.byTool(n, newName, "is no name for a tool: 1 to 64 letters, digits, _ and -")
	taken := map[string]bool{}
	r.Map(n, func(f config.Field) {
		if name := s.Rename[f.Name]; name != "" {
			if taken[name] {
				r.wrong(f.Value, "another tool has this name already")
			}
			taken[name] = true
		}
	})
}

func newName(text string) (string, bool) { return text, toolForm().MatchString(text) }

var toolForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })

// hashOf gives a digest as a tool's is shown.
func hashOf(text string) (string, bool) {
	digits := strings.ToLower(strings.TrimPrefix(text, "sha256:"))
	raw, err := hex.DecodeString(digits)
	return "sha256:" + digits, err == nil && len(raw) == 32
}

// byTool reads a mapping from names of tools to strings.
func (r *reader) byTool(n *config.Node, check func(string) (string, bool), what string) map[string]string {
	values := map[string]string{}
	r.Map(n, func(f config.Field) {
		text, ok := r.String(f.Value)
		if !ok {
			return
		}
		if values[f.Name], ok = check(text); !ok {
			r.wrong(f.Value, what)
		}
	})
	return values
}

// wide reads the members of the file, of which fields are those of its shape. What is for the
// whole hub stands beside them, or together in one of them.
func (r *reader) wide(n *config.Node, fields config.Fields) {
	c := r.config
	own := config.Fields{
		"expose":            r.words(&c.Expose, "tools", "resources", "prompts"),
		"prefix":            r.word(&c.Prefix, "collisions", "always", "never"),
		"search":            r.flag(&c.Search),
		"validateArguments": r.flag(&c.ValidateArguments),
		"forwardPaths":      r.word(&c.ForwardPaths, "absolute", "verbatim"),
		"tokens":            r.tokens,
		"refreshSeconds": func(n *config.Node) {
			seconds, _ := r.Int(n, 0, maxRefresh)
			c.Refresh = time.Duration(seconds) * time.Second
		},
	}
	maps.Copy(fields, own)
	fields[extrasName] = func(x *config.Node) {
		for _, f := range x.Fields {
			if own[f.Name] != nil && n.Get(f.Name) != nil {
				r.wrong(f.Value, "stands at the top of the file, too")
			}
		}
		r.Fields(x, own)
	}
	r.members(n, fields)
}

func (r *reader) tokens(n *config.Node) {
	seen := map[string]bool{}
	r.List(n, func(item *config.Node) {
		t := Token{Where: line(item.Where)}
		r.Fields(item, config.Fields{
			"name":       r.text(&t.Name),
			"file":       r.text(&t.File),
			"allowTools": r.texts(&t.AllowTools, filled),
		})
		r.need(item, "name", "file")
		if t.Name != "" && seen[t.Name] {
			r.wrong(item, "another token has this name already")
		}
		seen[t.Name] = true
		t.File = r.setting.resolve(t.File)
		r.config.Tokens = append(r.config.Tokens, t)
	})
}

// text reads a string as it is.
func (r *reader) text(into *string) func(*config.Node) {
	return func(n *config.Node) {
		text, ok := r.String(n)
		if what := filled(text); ok && what != "" {
			r.wrong(n, what)
			return
		}
		*into = text
	}
}
