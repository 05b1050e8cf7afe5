package clientconfig

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/durward/durward/internal/config"
)

// serversTable is what the table of the servers is called in TOML.
const serversTable = "mcp_servers"

// A tomlText is a document in TOML. Entries are tables with a header of their own.
type tomlText struct{ file, text string }

func (t *tomlText) bytes() []byte { return []byte(t.text) }

// tree reads the document, which is known to be TOML.
func (t *tomlText) tree(text string) (*config.Node, error) {
	return config.ParseWith(t.file, []byte(text), config.Options{Format: config.TOML})
}

func (t *tomlText) alone(string) []byte { return t.bytes() }

// found gives the entry of a name as the document says it, or nil.
func (t *tomlText) found(name string) *config.Node {
	n, err := t.tree(t.text)
	if err != nil || n.Get(serversTable) == nil {
		return nil
	}
	return n.Get(serversTable).Get(name)
}

func (t *tomlText) doubtful(string) error { return nil } // TOML has each name once

func (t *tomlText) holds() bool {
	n, err := t.tree(t.text)
	return err == nil && n.Get(serversTable) != nil
}

// raw gives the lines of an entry. One that has no header of its own is there, and has none.
func (t *tomlText) raw(name string) (string, bool) {
	if t.found(name) == nil {
		return "", false
	}
	raw := ""
	for _, s := range t.spans(name) {
		raw += t.text[s.from:s.to]
	}
	return raw, true
}

func (t *tomlText) set(name string, members []member) error {
	nl := newlineOf(t.text)
	lines := "[" + serversTable + "." + name + "]" + nl
	for _, m := range members {
		lines += m.name + " = " + tomlValue(m.value) + nl
	}
	return t.put(name, lines)
}

func (t *tomlText) restore(name, raw string) error { return t.put(name, raw) }

// put has the lines of an entry be others, or adds them at the end.
func (t *tomlText) put(name, lines string) error {
	if t.found(name) != nil {
		spans := t.spans(name)
		if len(spans) == 0 {
			return unsafe(t.file, serversTable+"."+name)
		}
		splices := []splice{{spans[0].from, spans[0].to, lines}}
		return t.become(spliced(t.text, append(splices, spans[1:]...)...), name, lines)
	}
	nl, before := newlineOf(t.text), ""
	if t.text != "" && !strings.HasSuffix(t.text, "\n") {
		before = nl
	}
	if strings.TrimSpace(t.text) != "" && !strings.HasSuffix(t.text, nl+nl) {
		before += nl
	}
	return t.become(t.text+before+lines, name, lines)
}

// remove takes the lines of an entry away, and an empty line before them that stands at the end then.
// There is no place for servers but theirs.
func (t *tomlText) remove(name string, _ bool) error {
	spans := t.spans(name)
	if len(spans) == 0 {
		return unsafe(t.file, serversTable+"."+name)
	}
	for i := range spans {
		s := &spans[i]
		rest := t.text[s.to:]
		nl := newlineOf(t.text)
		if before := t.text[:s.from]; strings.HasSuffix(before, nl+nl) && (rest == "" || strings.HasPrefix(rest, nl)) {
			s.from -= len(nl)
		}
	}
	return t.become(spliced(t.text, spans...), name, "")
}

// become takes another text over, provided that it says what this one does but for one entry, which is
// what the lines say.
func (t *tomlText) become(text, name, lines string) error {
	what := serversTable + "." + name
	was, err := t.tree(t.text)
	if err != nil {
		return err
	}
	now, err := t.tree(text)
	if err != nil {
		return unsafe(t.file, what)
	}
	alone, err := t.tree(lines)
	if err != nil {
		return unsafe(t.file, what)
	}
	wanted, got := entryOf(alone, name), entryOf(now, name)
	if (wanted == nil) != (got == nil) || wanted != nil && !config.Equal(wanted, got) || !config.Equal(without(was, name), without(now, name)) {
		return unsafe(t.file, what)
	}
	t.text = text
	return nil
}

func entryOf(n *config.Node, name string) *config.Node {
	if n = n.Get(serversTable); n == nil {
		return nil
	}
	return n.Get(name)
}

// without gives a document without one entry, and without a place for servers that has none.
func without(n *config.Node, name string) *config.Node {
	all := *n
	all.Fields = slices.Clone(n.Fields)
	i := slices.IndexFunc(all.Fields, func(f config.Field) bool { return f.Name == serversTable })
	if i < 0 || all.Fields[i].Value.Kind != config.Map {
		return &all
	}
	servers := *all.Fields[i].Value
	servers.Fields = slices.DeleteFunc(slices.Clone(servers.Fields), func(f config.Field) bool { return f.Name == name })
	if all.Fields[i].Value = &servers; len(servers.Fields) == 0 {
		all.Fields = slices.Delete(all.Fields, i, i+1)
	}
	return &all
}

// spans are the places of the lines of an entry: from the header of its table, or of one below, to the
// end of what belongs to it.
func (t *tomlText) spans(name string) []splice {
	var spans []splice
	own := false
	p := unstable.Parser{KeepComments: true}
	p.Reset([]byte(t.text))
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			key := e.Key()
			key.Next()
			at := int(key.Node().Raw.Offset)
			names := keyOf(e)
			if own = len(names) > 1 && names[0] == serversTable && names[1] == name; own {
				spans = append(spans, splice{from: strings.LastIndexByte(t.text[:at], '\n') + 1, to: t.lineEnd(at)})
			}
		case unstable.KeyValue:
			if own {
				spans[len(spans)-1].to = t.lineEnd(int(e.Raw.Offset + e.Raw.Length))
			}
		}
	}
	return spans
}

func keyOf(e *unstable.Node) (names []string) {
	for key := e.Key(); key.Next(); {
		names = append(names, string(key.Node().Data))
	}
	return names
}

// lineEnd is behind the line of a byte.
func (t *tomlText) lineEnd(at int) int {
	if i := strings.IndexByte(t.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(t.text)
}

func tomlValue(value any) string {
	w := jsonWriter{separator: ", ", colon: ": "}
	// What JSON does not escape and TOML does not take is one character.
	return strings.ReplaceAll(w.value(value), "\x7f", `\u007f`)
}
