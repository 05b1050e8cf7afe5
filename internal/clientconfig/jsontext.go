package clientconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/jsonx"
)

// A jsonText is a document in JSON, perhaps with comments and commas too many.
type jsonText struct {
	file, text string
	way        []string
	root       hujson.Value
}

func newJSONText(file, text string, way []string) (*jsonText, error) {
	t := &jsonText{file: file, text: text, way: way}
	if strings.TrimSpace(text) == "" {
		t.text = ""
		return t, nil
	}
	var err error
	if t.root, err = hujson.Parse(terminated(text)); err != nil { // OpenText has read it
		return nil, jsonProblem(file, err)
	}
	if at, missing, err := t.find(); err == nil && missing == nil && holdsServers(at, way) {
		t.way = append(t.way, "servers")
	}
	return t, nil
}

// terminated ends the last line where it may be a comment, which need not end for those who write it.
func terminated(text string) []byte {
	if last := text[strings.LastIndexByte(text, '\n')+1:]; strings.Contains(last, "//") {
		text += "\n"
	}
	return []byte(text)
}

// holdsServers reports whether what stands at "mcp" has its servers one step further down, as
// newer releases of opencode want it.
func holdsServers(at *hujson.Value, way []string) bool {
	if len(way) != 1 || way[0] != "mcp" {
		return false
	}
	below, _ := memberOf(at, "servers")
	if below == nil {
		return false
	}
	for _, own := range []string{"type", "command", "url"} {
		if n, _ := memberOf(&below.Value, own); n != nil {
			return false
		}
	}
	_, ok := below.Value.Value.(*hujson.Object)
	return ok
}

// jsonProblem says where a document is broken.
func jsonProblem(file string, err error) error {
	where := durward.Position{File: file}
	said := strings.TrimPrefix(err.Error(), "hujson: ")
	if n, _ := fmt.Sscanf(said, "line %d, column %d:", &where.Line, &where.Column); n == 2 {
		_, said, _ = strings.Cut(said, ": ")
	}
	return config.Problems{{Where: where, Message: "not JSON: " + said}}
}

func (t *jsonText) bytes() []byte { return []byte(t.text) }

// memberOf finds a member, and counts those of its name.
func memberOf(v *hujson.Value, name string) (found *hujson.ObjectMember, count int) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, 0
	}
	for i := range o.Members {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			found, count = &o.Members[i], count+1
		}
	}
	return found, count
}

// find follows the way to the servers as far as it goes, and gives the names that are missing.
func (t *jsonText) find() (at *hujson.Value, missing []string, err error) {
	at = &t.root
	for i := 0; ; i++ {
		if at.Value == nil {
			return at, t.way, nil // there is no document yet
		}
		if _, ok := at.Value.(*hujson.Object); !ok {
			return nil, nil, problem(t.file, "%s is no object", orDocument(t.way[:i]))
		}
		if i == len(t.way) {
			return at, nil, nil
		}
		below, count := memberOf(at, t.way[i])
		switch {
		case count > 1:
			return nil, nil, problem(t.file, "%s stands there twice", orDocument(t.way[:i+1]))
		case below == nil:
			return at, t.way[i:], nil
		}
		at = &below.Value
	}
}

// wayTo names the steps to a server from the document.
func (t *jsonText) wayTo(name string) []string { return slices.Concat(t.way, []string{name}) }

func orDocument(way []string) string {
	if len(way) == 0 {
		return "the document"
	}
	return strings.Join(way, ".")
}

// entry finds the member of a server.
func (t *jsonText) entry(name string) (within *hujson.Value, found *hujson.ObjectMember, err error) {
	within, missing, err := t.find()
	if err != nil || missing != nil {
		return nil, nil, err
	}
	found, count := memberOf(within, name)
	if count > 1 {
		return nil, nil, problem(t.file, "%s.%s stands there twice", orDocument(t.way), name)
	}
	return within, found, nil
}

func (t *jsonText) doubtful(name string) error {
	at, way := &t.root, t.wayTo(name)
	for i := range way {
		below, count := memberOf(at, way[i])
		switch {
		case count > 1:
			return problem(t.file, "%s stands there twice", orDocument(way[:i+1]))
		case below == nil:
			return nil
		}
		at = &below.Value
	}
	return nil
}

func (t *jsonText) holds() bool {
	_, missing, err := t.find()
	return err == nil && missing == nil
}

func (t *jsonText) raw(name string) (string, bool) {
	_, e, err := t.entry(name)
	if err != nil || e == nil {
		return "", false
	}
	return t.text[e.Value.StartOffset:e.Value.EndOffset], true
}

func (t *jsonText) alone(name string) []byte {
	raw, ok := t.raw(name)
	if !ok {
		return []byte("{}")
	}
	way := t.wayTo(name)
	for _, outer := range slices.Backward(way) {
		raw = "{" + string(jsonx.AppendString(nil, outer)) + ": " + raw + "}"
	}
	return []byte(raw)
}

func (t *jsonText) set(name string, members []member) error {
	_, e, err := t.entry(name)
	if err != nil {
		return err
	}
	if e != nil {
		w := t.writer(indentAt(t.text, e.Name.StartOffset), t.beginsLine(e))
		return t.replaceValue(name, e, w.object(members))
	}
	at, missing, err := t.find()
	if err != nil {
		return err
	}
	value := any(members)
	names := append(missing[:len(missing):len(missing)], name)
	for i := len(names) - 1; i > 0; i-- {
		value = []member{{names[i], value}}
	}
	return t.insert(at, names, value.([]member))
}

func (t *jsonText) restore(name, raw string) error {
	_, e, err := t.entry(name)
	switch {
	case err != nil:
		return err
	case e == nil:
		return problem(t.file, "there is no %s.%s", orDocument(t.way), name)
	}
	return t.replaceValue(name, e, raw)
}

func (t *jsonText) replaceValue(name string, e *hujson.ObjectMember, value string) error {
	text := spliced(t.text, splice{e.Value.StartOffset, e.Value.EndOffset, value})
	return t.become(text, name, patch{"replace", t.wayTo(name), value})
}

// insert adds a member behind all others of an object; names are of it and what it leads to.
func (t *jsonText) insert(at *hujson.Value, names []string, members []member) error {
	if at.Value == nil {
		begun, err := newJSONText(t.file, t.writer("", true).object([]member{{names[0], members}})+"\n", t.way)
		if err == nil {
			*t = *begun
		}
		return err
	}
	o := at.Value.(*hujson.Object)
	put := t.behindLast
	if len(o.Members) == 0 {
		put = t.intoEmpty
	}
	splices, w := put(at, o, names[0], members)
	way := slices.Concat(t.way[:len(t.way)-len(names)+1], names[:1])
	return t.become(spliced(t.text, splices...), strings.Join(way, "."), patch{"add", way, w.object(members)})
}

// intoEmpty writes the first member of an object, behind the comments that are in it.
func (t *jsonText) intoEmpty(at *hujson.Value, o *hujson.Object, name string, members []member) ([]splice, jsonWriter) {
	kept := len(strings.TrimRight(string(o.AfterExtra), " \t\r\n"))
	from, to := at.StartOffset+1+kept, at.EndOffset-1
	indent := indentAt(t.text, at.StartOffset)
	w := t.writer(indent+t.unit(), t.inLines() || kept > 0)
	if !w.lines {
		return []splice{{from, to, w.member(name, members)}}, w
	}
	nl := newlineOf(t.text)
	return []splice{{from, to, nl + w.indent + w.member(name, members) + nl + indent}}, w
}

// behindLast writes a member behind the last one, and behind the comment at the end of its line.
func (t *jsonText) behindLast(_ *hujson.Value, o *hujson.Object, name string, members []member) ([]splice, jsonWriter) {
	last := &o.Members[len(o.Members)-1]
	lines := t.beginsLine(last)
	w := t.writer(indentAt(t.text, last.Name.StartOffset), lines)
	comma := last.Value.EndOffset
	trailing := last.Value.AfterExtra != nil
	if trailing {
		comma += len(last.Value.AfterExtra)
	}
	if !lines {
		gap := strings.TrimLeft(w.separator, ",")
		if trailing {
			return []splice{{comma + 1, comma + 1, gap + w.member(name, members) + ","}}, w
		}
		return []splice{{comma, comma, "," + gap + w.member(name, members)}}, w
	}
	text := newlineOf(t.text) + w.indent + w.member(name, members)
	if trailing {
		at := comma + 1 + lineRest(o.AfterExtra)
		return []splice{{at, at, text + ","}}, w
	}
	at := comma + lineRest(o.AfterExtra)
	return []splice{{comma, comma, ","}, {at, at, text}}, w
}

// lineRest is the length of what stands behind a member up to the end of its line, where there is a comment.
func lineRest(extra hujson.Extra) int {
	end := 0
	for i := 0; i < len(extra); {
		switch {
		case extra[i] == ' ', extra[i] == '\t':
			i++
			continue
		case bytes.HasPrefix(extra[i:], []byte("/*")):
			i += 2 + bytes.Index(extra[i+2:], []byte("*/")) + 2
		case bytes.HasPrefix(extra[i:], []byte("//")):
			line, _, _ := bytes.Cut(extra[i:], []byte("\n"))
			return i + len(bytes.TrimSuffix(line, []byte("\r")))
		default:
			return end
		}
		end = i
	}
	return end
}

func (t *jsonText) remove(name string, bare bool) error {
	way := t.wayTo(name)
	within, e, err := t.entry(name)
	if err == nil && e == nil {
		err = problem(t.file, "there is no %s", strings.Join(way, "."))
	}
	if err != nil {
		return err
	}
	if err := t.removeMember(within, e, way); err != nil || !bare {
		return err
	}
	for i := len(t.way); i > 0; i-- {
		outer := jsonText{file: t.file, text: t.text, root: t.root, way: t.way[:i-1]}
		at, _, err := outer.find()
		if err != nil {
			return err
		}
		held, _ := memberOf(at, t.way[i-1])
		if o, ok := held.Value.Value.(*hujson.Object); !ok || len(o.Members) > 0 || strings.TrimSpace(string(o.AfterExtra)) != "" {
			return nil
		}
		if err := t.removeMember(at, held, t.way[:i]); err != nil {
			return err
		}
	}
	return nil
}

// removeMember takes a member away with the white space before it and one comma. Comments stay.
func (t *jsonText) removeMember(within *hujson.Value, e *hujson.ObjectMember, way []string) error {
	o := within.Value.(*hujson.Object)
	i := 0
	for &o.Members[i] != e {
		i++
	}
	last := i == len(o.Members)-1
	cut := splice{from: e.Name.StartOffset, to: e.Value.EndOffset}
	if !last || e.Value.AfterExtra != nil {
		cut.to += len(e.Value.AfterExtra) + 1
	}
	before := strings.TrimRight(string(e.Name.BeforeExtra), " \t\r\n")
	comment := before[strings.LastIndexByte(before, '\n')+1:]
	if rest := strings.TrimPrefix(t.text[cut.to:], "\r"); !strings.Contains(comment, "//") || strings.HasPrefix(rest, "\n") {
		cut.from -= len(e.Name.BeforeExtra) - len(before) // else the comment would not end
	}
	splices := []splice{cut}
	switch {
	case len(o.Members) == 1:
		if rest := string(o.AfterExtra); strings.TrimSpace(before+rest) == "" {
			splices[0].to += len(rest)
		}
	case last && e.Value.AfterExtra == nil: // the comma was there for it
		prior := &o.Members[i-1].Value
		comma := prior.EndOffset + len(prior.AfterExtra)
		splices = []splice{{comma, comma + 1, ""}, cut}
	}
	return t.become(spliced(t.text, splices...), strings.Join(way, "."), patch{"remove", way, ""})
}

// A patch says what is to become of a document, by RFC 6902.
type patch struct {
	op    string
	way   []string
	value string
}

func (p patch) text() []byte {
	pointer := ""
	for _, name := range p.way {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	}
	text := `[{"op":"` + p.op + `","path":` + string(jsonx.AppendString(nil, pointer))
	if p.value != "" {
		text += `,"value":` + p.value
	}
	return []byte(text + "}]")
}

// become takes another text over, provided that it says what the patch makes of this one.
func (t *jsonText) become(text, what string, p patch) error {
	root, err := hujson.Parse(terminated(text))
	if err != nil {
		return unsafe(t.file, what)
	}
	want, got := t.root.Clone(), root.Clone()
	if want.Patch(p.text()) != nil {
		return unsafe(t.file, what)
	}
	want.Minimize()
	got.Minimize()
	if !bytes.Equal(want.Pack(), got.Pack()) {
		return unsafe(t.file, what)
	}
	t.text, t.root = text, root
	return nil
}

// beginsLine reports whether nothing but white space stands before a member on its line.
func (t *jsonText) beginsLine(m *hujson.ObjectMember) bool {
	line := t.text[strings.LastIndexByte(t.text[:m.Name.StartOffset], '\n')+1 : m.Name.StartOffset]
	return strings.Contains(string(m.Name.BeforeExtra), "\n") && strings.Trim(line, " \t") == ""
}

// inLines reports whether a document has a line for each member, or may have.
func (t *jsonText) inLines() bool {
	o, ok := t.root.Value.(*hujson.Object)
	return !ok || len(o.Members) == 0 || t.beginsLine(&o.Members[0])
}

// unit is what a line is indented by, one step deeper than another.
func (t *jsonText) unit() string {
	if o, ok := t.root.Value.(*hujson.Object); ok && len(o.Members) > 0 && t.beginsLine(&o.Members[0]) {
		outer := indentAt(t.text, t.root.StartOffset)
		if unit, deeper := strings.CutPrefix(indentAt(t.text, o.Members[0].Name.StartOffset), outer); deeper && unit != "" {
			return unit
		}
	}
	return "  "
}
