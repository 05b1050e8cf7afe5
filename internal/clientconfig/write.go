package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

const byteOrderMark = "\ufeff"

// ErrNoURL says that a client starts servers and asks none at a URL.
var ErrNoURL = errors.New("it only starts servers, and asks none at a URL")

// An Entry is a server as a client is told of it: one that it starts, or one that is there.
type Entry struct {
	Command string
	Args    []string
	// URL is asked by the streamable transport, where Command is empty.
	URL string
	// TokenVariable is of the client, and holds the token that is sent to URL. Empty sends none.
	TokenVariable string
}

// A Text is what the file of a client holds, to be changed in one place: all other bytes stay,
// comments, order, indentation, line ends and commas too many among them. What is changed is
// read again, and unless all else is as it was, the change is refused and not made. It is
// not safe for concurrent use.
type Text struct {
	client Client
	file   string
	mark   string // a byte order mark, or nothing
	syntax syntax
}

// A syntax is a document in the language that it is written in. After an error it is as it was.
type syntax interface {
	bytes() []byte
	// raw gives the text of an entry, if there is one.
	raw(name string) (string, bool)
	// alone gives a document that has the entry of a name, and perhaps nothing else.
	alone(name string) []byte
	// set adds an entry, or puts it in the place of the one that is there.
	set(name string, members []member) error
	// restore puts a text back that raw gave.
	restore(name, raw string) error
	// remove takes an entry away, and what held it if that is empty then and bare is set.
	remove(name string, bare bool) error
	// holds reports whether there is a place for entries.
	holds() bool
	// doubtful is the error of an entry of which nobody can say whether it counts.
	doubtful(name string) error
}

// OpenText reads a client's file to change it; file stands in every place. One that is empty may
// be changed like one without servers. The error is of type [config.Problems].
func OpenText(c Client, file string, data []byte) (*Text, error) {
	if _, err := Read(file, orEmpty(c, data), Options{Client: c}); err != nil {
		return nil, err
	}
	t := &Text{client: c, file: file}
	body, marked := bytes.CutPrefix(data, []byte(byteOrderMark))
	if marked {
		t.mark = byteOrderMark
	}
	var err error
	if c == Codex {
		t.syntax = &tomlText{file: file, text: string(body)}
	} else {
		t.syntax, err = newJSONText(file, string(body), c.way(file))
	}
	return t, err
}

// orEmpty gives a document in the place of nothing at all.
func orEmpty(c Client, data []byte) []byte {
	if c != Codex && len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))) == 0 {
		return []byte("{}")
	}
	return data
}

// way is the members that lead to the servers.
func (c Client) way(file string) []string {
	switch {
	case c == OpenCode:
		return []string{"mcp"}
	case c == VSCode && filepath.Base(file) == "settings.json":
		return []string{"mcp", "servers"}
	case c == VSCode:
		return []string{"servers"}
	}
	return []string{"mcpServers"}
}

// Bytes gives the text as it is now.
func (t *Text) Bytes() []byte { return append([]byte(t.mark), t.syntax.bytes()...) }

// Find gives the server of a name, if there is one.
func (t *Text) Find(name string) (Server, bool) {
	found, err := Read(t.file, t.syntax.alone(name), Options{Client: t.client})
	if err != nil {
		return Server{}, false
	}
	i := slices.IndexFunc(found.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return Server{}, false
	}
	return found.Servers[i], true
}

// Has reports whether a name has an entry, be it a server or not.
func (t *Text) Has(name string) bool {
	_, ok := t.syntax.raw(name)
	return ok
}

// Doubtful is an error of type [config.Problems] where a name on the way to an entry, or its own, stands twice: which
// of them counts is up to the client, and [Text.Has] says no.
func (t *Text) Doubtful(name string) error { return t.syntax.doubtful(name) }

// Raw gives the text of an entry, for [Text.Restore]; it is empty where there is none.
func (t *Text) Raw(name string) string {
	raw, _ := t.syntax.raw(name)
	return raw
}

// Holds reports whether there is a place for servers, though there may be none in it.
func (t *Text) Holds() bool { return t.syntax.holds() }

// Leads reports whether the entry of a name leads to the server that e is. What a client knows of it
// besides does not count, but for its being disabled.
func (t *Text) Leads(name string, e Entry) bool {
	s, ok := t.Find(name)
	if !ok || s.Disabled || s.Command != e.Command || !slices.Equal(s.Args, e.Args) || s.URL != e.URL {
		return false
	}
	return e.TokenVariable == "" || slices.ContainsFunc(s.Headers, func(h Pair) bool { return strings.Contains(h.Value, e.TokenVariable) })
}

// nameForm is what every client takes for a name.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// IsName reports whether every client takes a text for the name of an entry.
func IsName(text string) bool { return nameForm().MatchString(text) }

// Set has the entry of a name be e. The error is [ErrNoURL], or of type [config.Problems].
func (t *Text) Set(name string, e Entry) error {
	if !IsName(name) {
		return problem(t.file, "%q is no name that every client takes: it has 1 to 64 letters, digits, _ and -", name)
	}
	if err := t.client.canSay(t.file, e); err != nil {
		return err
	}
	members, err := t.client.members(e)
	if err != nil {
		return err
	}
	return t.syntax.set(name, members)
}

// Restore puts a text that [Text.Raw] gave in the place of an entry. The error is of type
// [config.Problems].
func (t *Text) Restore(name, raw string) error { return t.syntax.restore(name, raw) }

// Remove takes the entry of a name away, and with bare also the place for servers if nothing else is in it.
// The error is of type [config.Problems].
func (t *Text) Remove(name string, bare bool) error { return t.syntax.remove(name, bare) }

// Empty reports whether the document says nothing.
func (t *Text) Empty() bool {
	text := strings.Join(strings.Fields(string(t.syntax.bytes())), "")
	return text == "" || text == "{}"
}

// canSay refuses texts that a client would take for references to something else.
func (c Client) canSay(file string, e Entry) error {
	d := dialectOf(c)
	for _, text := range append([]string{e.Command, e.URL}, e.Args...) {
		if d.variables != nil {
			text = d.variables(text)
		}
		if len(references(text)) > 0 {
			return problem(file, "%s would put something else in the place of %q", c.Title(), text)
		}
	}
	return nil
}

// A member is a name with a value: a string, strings, a boolean, or members.
type member struct {
	name  string
	value any
}

// members gives an entry in the client's words.
func (c Client) members(e Entry) ([]member, error) {
	if e.Command == "" {
		return c.askingMembers(e)
	}
	switch c {
	case ClaudeCode, VSCode:
		return []member{{"type", "stdio"}, {"command", e.Command}, {"args", e.Args}}, nil
	case OpenCode:
		return []member{{"type", "local"}, {"command", append([]string{e.Command}, e.Args...)}, {"enabled", true}}, nil
	}
	return []member{{"command", e.Command}, {"args", e.Args}}, nil
}

// askingMembers gives an entry of a server that is there.
func (c Client) askingMembers(e Entry) ([]member, error) {
	reference := "${env:" + e.TokenVariable + "}"
	var said []member
	switch c {
	case ClaudeDesktop:
		return nil, ErrNoURL
	case ClaudeCode:
		said, reference = []member{{"type", "http"}, {"url", e.URL}}, "${"+e.TokenVariable+"}"
	case VSCode:
		said = []member{{"type", "http"}, {"url", e.URL}}
	case Windsurf:
		said = []member{{"serverUrl", e.URL}}
	case Gemini:
		said, reference = []member{{"httpUrl", e.URL}}, "${"+e.TokenVariable+"}"
	case OpenCode:
		said, reference = []member{{"type", "remote"}, {"url", e.URL}, {"enabled", true}}, "{env:"+e.TokenVariable+"}"
	default:
		said = []member{{"url", e.URL}}
	}
	switch {
	case e.TokenVariable == "":
	case c == Codex:
		said = append(said, member{"bearer_token_env_var", e.TokenVariable})
	default:
		said = append(said, member{"headers", []member{{"Authorization", "Bearer " + reference}}})
	}
	return said, nil
}

// A splice replaces the bytes between from and to. Those of a list stand in their order.
type splice struct {
	from, to int
	text     string
}

func spliced(text string, splices ...splice) string {
	var b strings.Builder
	at := 0
	for _, s := range splices {
		b.WriteString(text[at:s.from] + s.text)
		at = s.to
	}
	return b.String() + text[at:]
}

// newlineOf is how lines of a text end.
func newlineOf(text string) string {
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indentAt is the white space that the line of a byte begins with.
func indentAt(text string, at int) string {
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func problem(file, format string, args ...any) error {
	return config.Problems{{Where: durward.Position{File: file}, Message: fmt.Sprintf(format, args...)}}
}

// unsafe is the answer to a layout that no edit is known for.
func unsafe(file, name string) error {
	return problem(file, "what stands at %s is laid out in a way that cannot be edited safely; change it by hand", name)
}
