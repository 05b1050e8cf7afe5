package hubconfig

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/netguard"
)

// jsonRaw is a value as it stands in the file.
type jsonRaw = json.RawMessage

// maxSeconds is far beyond what the hub's own bound leaves of a timeout.
const maxSeconds = 1_000_000_000

// server reads one entry. f is its member where the servers are a mapping, and names it.
func (r *reader) server(n *config.Node, text []byte, f *config.Field) {
	s := Server{
		PathPolicy: "enforce", Concurrency: 1, Where: line(n.Where),
		Restart: Restart{Policy: "always", Initial: time.Second, Max: time.Minute},
	}
	e := &entry{reader: r, server: &s, path: n.Path + "."}
	fields := config.Fields{
		"type":     e.word(&e.kind, "stdio", "local", "http", "streamable-http", "streamableHttp", "sse"),
		"command":  e.text(&e.command),
		"args":     e.args,
		"env":      e.values(&s.Env, checkVariable),
		"envFile":  e.text(&s.EnvFile),
		"cwd":      e.text(&s.Dir),
		"url":      e.text(&e.url),
		"headers":  e.values(&e.headers, checkHeader),
		"disabled": r.flag(&s.Disabled),
		"timeout":  func(n *config.Node) { s.Timeout, _ = r.Seconds(n, maxSeconds) },
		extrasName: func(n *config.Node) { r.extras(n, &s, raws(text)[extrasName]) },
	}
	switch {
	case f != nil:
		s.Name, s.Where = r.name(f.Name, n, f.Where), line(f.Where)
	default:
		r.need(n, "name")
		fields["name"] = func(n *config.Node) {
			if written, ok := r.String(n); ok {
				s.Name = r.name(written, n, n.Where)
			}
		}
	}
	if r.open {
		fields["serverUrl"] = fields["url"]
	}
	r.members(n, fields)
	if n.Kind == config.Map {
		e.finish(n)
	}
	r.config.Servers = append(r.config.Servers, s)
}

// An entry is a server on its way in.
type entry struct {
	*reader
	server       *Server
	kind         string
	command, url string
	headers      map[string]string
	path         string           // that of the entry, and a dot
	why          []config.Problem // it cannot be started
}

// text reads a string and puts values in the places of its variables.
func (e *entry) text(into *string) func(*config.Node) {
	return func(n *config.Node) {
		written, ok := e.String(n)
		switch {
		case !ok:
		case written == "":
			e.wrong(n, "is empty")
		default:
			*into = e.expanded(n, written)
		}
	}
}

// expanded gives a text of the file with its variables, or notes why it cannot be had.
func (e *entry) expanded(n *config.Node, written string) string {
	value, taken, why := e.setting.expand(written)
	e.server.Taken = append(e.server.Taken, taken...)
	switch {
	case why != "":
		e.broken(n, why)
	case strings.IndexByte(written, 0) >= 0:
		e.wrong(n, "holds a NUL")
	case strings.IndexByte(value, 0) >= 0:
		e.broken(n, "a variable of it holds a NUL")
	}
	return value
}

// broken notes why the server cannot be started.
func (e *entry) broken(n *config.Node, why string) {
	e.why = append(e.why, config.Problem{Where: line(n.Where), Message: strings.TrimPrefix(n.Path, e.path) + ": " + why})
}

func (e *entry) args(n *config.Node) {
	e.List(n, func(item *config.Node) {
		if written, ok := e.String(item); ok {
			e.server.Args = append(e.server.Args, e.expanded(item, written))
		}
	})
}

// values reads a mapping of strings, which may be secrets: no message repeats one.
func (e *entry) values(into *map[string]string, check func(name, value string) string) func(*config.Node) {
	return func(n *config.Node) {
		*into = map[string]string{}
		e.Map(n, func(f config.Field) {
			if f.Value.Kind != config.String {
				e.wrong(f.Value, "must be a string in quotes, not "+f.Value.Kind.String())
				return
			}
			value := e.expanded(f.Value, f.Value.Text)
			switch what := check(f.Name, value); {
			case what != "" && value != f.Value.Text:
				e.broken(f.Value, "with its variables "+what)
				return
			case what != "":
				e.wrong(f.Value, what)
				return
			}
			(*into)[f.Name] = value
		})
	}
}

func checkVariable(name, _ string) string {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return "it has no name that a variable can have"
	}
	return ""
}

func checkHeader(name, value string) string {
	switch {
	case !headerForm().MatchString(name):
		return "it has no name that a header can have"
	case strings.ContainsAny(value, "\r\n\x00"):
		return "it holds the end of a line"
	}
	return ""
}

var headerForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$") })

// finish puts together what the members said.
func (e *entry) finish(n *config.Node) {
	url := n.Get("url")
	if url == nil && e.open {
		url = n.Get("serverUrl")
	}
	switch started := e.kind == "stdio" || e.kind == "local"; {
	case url != nil && (started || n.Get("command") != nil):
		e.wrong(url, "is for servers of type http, and this one is started by a command")
	case url != nil:
		e.remote(n, url)
	case e.kind != "" && !started:
		e.need(n, "url")
	default:
		e.local(n)
	}
	if len(e.why) > 0 {
		e.giveUp()
	}
}

// giveUp leaves nothing of a server that cannot be started, which could be half of something.
func (e *entry) giveUp() {
	s := e.server
	s.Command, s.Args, s.Env, s.Dir, s.EnvFile, s.Remote = "", nil, nil, "", "", nil
	var all []string
	for _, w := range e.why {
		all = append(all, w.Message)
		if !s.Disabled {
			e.warnings.Add(w.Where, "%s%s; the server is not started", e.path, w.Message)
		}
	}
	s.Broken = strings.Join(all, "; ")
}

// local finishes a server that is started.
func (e *entry) local(n *config.Node) {
	e.need(n, "command")
	e.idle(n, "headers")
	if at := n.Get("command"); at != nil && at.Kind == config.String && at.Text != "" && e.command == "" && len(e.why) == 0 {
		e.broken(at, "its variables leave nothing of it")
	}
	s := e.server
	if e.command != "" {
		s.Command = e.setting.program(e.command)
	}
	for _, path := range []*string{&s.Dir, &s.EnvFile} {
		if *path != "" {
			*path = e.setting.resolve(*path)
		}
	}
}

// remote finishes a server over HTTP.
func (e *entry) remote(n, url *config.Node) {
	e.idle(n, "args", "env", "envFile", "cwd")
	if x := n.Get(extrasName); x != nil {
		e.idle(x, "sandbox", "inheritEnv")
	}
	e.server.Remote = &Remote{Type: "http", URL: e.url, Headers: e.headers}
	if e.kind == "sse" {
		e.server.Remote.Type = "sse"
	}
	if u, err := netguard.ParseURL(e.url); err == nil && netguard.IsHTTP(u) || len(e.why) > 0 {
		return
	}
	if e.url == url.Text {
		e.wrong(url, "is no URL of http or https")
		return
	}
	e.broken(url, "with its variables it is no URL of http or https")
}

// idle finds members that mean nothing for this server. Other programs' files may have them.
func (e *entry) idle(n *config.Node, names ...string) {
	for _, f := range n.Fields {
		switch {
		case !slices.Contains(names, f.Name):
		case e.open && n.Path+"." == e.path:
			e.unknown = append(e.unknown, config.Problem{Where: line(f.Where), Message: f.Value.Path})
		default:
			e.wrong(f.Value, "means nothing for a server of this type")
		}
	}
}
