package mcppolicy

import (
	"slices"
	"strings"
	"unicode"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/policy"
)

// Parse reads a policy. file stands in every place.
//
// The error has the reason [durward.PolicyInvalid] and names every mistake, one
// "file:line:column: message" a line; [config.ProblemsOf] gives them as a list. When the
// document can be read in spite of them it comes with the error, so that [Compile] finds
// the rest; it is of no other use. Parse keeps nothing of data and may be called
// concurrently.
func Parse(file string, data []byte) (*Document, error) {
	n, err := config.ParseWith(file, data, config.Options{Format: config.YAML})
	if n == nil {
		return nil, policy.Invalid(err)
	}
	r := &reader{}
	r.Include(err)
	doc := &Document{Where: n.Where}
	fields := doc.fields()
	reset(fields)
	r.object(n, fields)
	r.agree(doc)
	if err := r.Err(); err != nil {
		doc.mistakes = config.ProblemsOf(err)
		return doc, policy.Invalid(err)
	}
	if doc.hash, err = digest(fields); err != nil {
		r.problem(doc.Where, "the policy is too large: %s", err)
		return nil, policy.Invalid(r.Err())
	}
	return doc, nil
}

// Is reports whether a text is a policy of this kind, whatever mistakes it has, and not one
// of another kind: only these say which version they are, or name roots.
func Is(data []byte) bool {
	n, _ := config.ParseWith("", data, config.Options{Format: config.YAML})
	if n == nil {
		return false
	}
	return slices.ContainsFunc([]string{"version", "allowedRoots", alias("allowedRoots")}, func(name string) bool { return n.Get(name) != nil })
}

// A reader fills a document.
type reader struct{ config.Decoder }

// problem notes a mistake at a place that is no node's.
func (r *reader) problem(at durward.Position, format string, args ...any) {
	r.Problem(&config.Node{Where: at}, format, args...)
}

// object decodes a mapping whose members may be written in either spelling.
func (r *reader) object(n *config.Node, fields []field) {
	known := config.Fields{}
	for _, f := range fields {
		decode := func(value *config.Node) { f.holds.decode(r, value) }
		known[f.name], known[alias(f.name)] = decode, decode
	}
	r.Fields(n, known)
	if n.Kind != config.Map {
		return
	}
	for _, f := range fields {
		r.spelling(n, f)
	}
}

// spelling finds a member that was written twice, or not though it has to be.
func (r *reader) spelling(n *config.Node, f field) {
	first := config.Field{}
	for _, written := range n.Fields {
		switch {
		case written.Name != f.name && written.Name != alias(f.name):
		case first.Name == "":
			first = written
		default:
			r.problem(written.Where, "%q and %q are one field (first on line %d); keep one", written.Name, first.Name, first.Where.Line)
		}
	}
	if f.required && first.Name == "" {
		r.problem(n.Where, "%s is missing", strings.TrimPrefix(n.Path+"."+f.name, "."))
	}
}

// alias gives the other spelling of a field: "denyNetworkFS" is "deny_network_fs".
func alias(name string) string {
	var b strings.Builder
	for i, c := range name {
		if unicode.IsUpper(c) && i > 0 && unicode.IsLower(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
