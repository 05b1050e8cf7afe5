package policy

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// Parse reads a policy document: the mapping itself, or one whose only member "sandbox"
// holds it. file stands in every place.
//
// The error has the reason [durward.PolicyInvalid] and names every mistake, one
// "file:line:column: message" a line; [config.ProblemsOf] gives them as a list.
func Parse(file string, data []byte) (*Document, error) {
	n, err := config.Parse(file, data)
	if n == nil {
		return nil, Invalid(err)
	}
	r := &reader{doc: &Document{}}
	r.Include(err)
	r.top(n)
	if err := r.Err(); err != nil {
		return nil, Invalid(err)
	}
	return r.doc, nil
}

// Read is [Parse] for the mapping of a policy inside a document that has been parsed.
func Read(n *config.Node) (*Document, error) {
	r := &reader{doc: &Document{Where: n.Where}}
	r.members(n, "", r.sandbox())
	if err := r.Err(); err != nil {
		return nil, Invalid(err)
	}
	return r.doc, nil
}

// Invalid gives err, which is nil or made of [config.Problems], the reason
// [durward.PolicyInvalid] and the place of the first.
func Invalid(err error) error {
	problems := config.ProblemsOf(err)
	if len(problems) == 0 {
		return err
	}
	return &durward.Error{
		Reason: durward.PolicyInvalid, Where: problems[0].Where, Err: problems,
		Hint: "mend what is named; nothing runs under a policy with a mistake",
	}
}

// A reader fills a document.
type reader struct {
	config.Decoder
	doc *Document
}

func (r *reader) top(n *config.Node) {
	fields := r.sandbox()
	if n.Get("sandbox") != nil {
		r.Fields(n, config.Fields{"sandbox": func(n *config.Node) {
			r.doc.Where = n.Where
			r.members(n, "", fields)
		}})
		return
	}
	r.doc.Where = n.Where
	fields["sandbox"] = nil // is not there, but may be what was meant
	r.members(n, "", fields)
}

func (r *reader) sandbox() config.Fields {
	return config.Fields{
		"mode":       func(n *config.Node) { r.doc.Mode = word(r, n, modes...) },
		"level":      func(n *config.Node) { r.doc.Level = r.level(n) },
		"minLevel":   func(n *config.Node) { r.doc.MinLevel = r.minLevel(n) },
		"require":    r.require,
		"filesystem": r.filesystem,
		"network":    r.network,
		"limits":     r.limits,
		"env":        r.env,
		"identity":   func(n *config.Node) { r.doc.Identity = r.identity(n) },
	}
}

// members decodes the mapping n and keeps the place of each member.
func (r *reader) members(n *config.Node, prefix string, fields config.Fields) {
	for name, decode := range fields {
		fields[name] = func(value *config.Node) {
			r.doc.write(prefix+name, value.Where)
			decode(value)
		}
	}
	r.Fields(n, fields)
}

func (r *reader) filesystem(n *config.Node) {
	f := &r.doc.Filesystem
	r.members(n, "filesystem.", config.Fields{
		"read":        r.texts(&f.Read),
		"write":       r.texts(&f.Write),
		"deny":        r.texts(&f.Deny),
		"protect":     r.texts(&f.Protect),
		"exec":        r.texts(&f.Exec),
		"view":        func(n *config.Node) { f.HostReadOnly = word(r, n, "private", "host-ro") == "host-ro" },
		"copyOnWrite": func(n *config.Node) { f.CopyOnWrite, _ = r.Bool(n) },
	})
}

func (r *reader) network(n *config.Node) {
	f := &r.doc.Network
	r.members(n, "network.", config.Fields{
		"mode":         func(n *config.Node) { f.Mode = word(r, n, networkModes...) },
		"allow":        r.texts(&f.Allow),
		"allowPrivate": r.texts(&f.AllowPrivate),
		"requireSNI":   func(n *config.Node) { f.RequireSNI, _ = r.Bool(n) },
		"unixSockets":  r.texts(&f.UnixSockets),
	})
}

func (r *reader) limits(n *config.Node) {
	fields := config.Fields{}
	for _, row := range limitRows {
		fields[strings.TrimPrefix(row.name, "limits.")] = func(n *config.Node) {
			value, _ := r.Int(n, 1, row.max)
			*row.of(&r.doc.Limits) = value * row.unit
		}
	}
	r.members(n, "limits.", fields)
}

func (r *reader) env(n *config.Node) {
	r.members(n, "env.", config.Fields{
		"pass": r.texts(&r.doc.Env.Pass),
		"set": func(n *config.Node) {
			r.doc.Env.Set = map[string]Text{}
			r.Map(n, func(f config.Field) {
				if value, ok := r.String(f.Value); ok {
					r.doc.Env.Set[f.Name] = Text{Value: value, Where: f.Where}
				}
			})
		},
	})
}

func (r *reader) require(n *config.Node) {
	r.doc.Require = []durward.Requirement{}
	r.List(n, func(item *config.Node) {
		if text := word(r, item, requirementWords()...); text != "" {
			name, kernel := strings.CutSuffix(text, "!")
			r.doc.Require = append(r.doc.Require, durward.Requirement{Guarantee: durward.Guarantee(name), Kernel: kernel})
		}
	})
}

// requirementWords lists the guarantees, and with "!" those that something weaker than
// the kernel can hold.
func requirementWords() []string {
	var words []string
	for _, g := range durward.Guarantees() {
		words = append(words, string(g))
	}
	return append(words, "mem!", "pids!", "kill!")
}

func (r *reader) level(n *config.Node) durward.Level {
	if n.Kind != config.String {
		return r.minLevel(n)
	}
	word(r, n, "auto")
	return durward.LevelAuto
}

func (r *reader) minLevel(n *config.Node) durward.Level {
	number, ok := r.Int(n, 0, int64(durward.LevelMicroVM.Number()))
	if !ok {
		return durward.LevelAuto
	}
	return durward.LevelNone + durward.Level(number)
}

func (r *reader) identity(n *config.Node) durward.Identity {
	text, ok := r.String(n)
	if !ok || text == "auto" {
		return durward.Identity{}
	}
	if text == "keep" {
		return durward.Identity{Keep: true}
	}
	user, group, _ := strings.Cut(text, ":")
	uid, err1 := strconv.ParseUint(user, 10, 32)
	gid, err2 := strconv.ParseUint(group, 10, 32)
	switch {
	// The largest id is no id: to the kernel it means "leave as it is".
	case cmp.Or(err1, err2) != nil || max(uid, gid) == math.MaxUint32:
		r.Problem(n, `identity must be auto, keep or UID:GID, not %q`, text)
	case uid == 0:
		r.Problem(n, "identity: a command never runs as user 0")
	}
	return durward.Identity{Fixed: true, UID: uint32(uid), GID: uint32(gid)}
}

func (r *reader) texts(into *[]Text) func(*config.Node) {
	return func(n *config.Node) {
		*into = []Text{}
		r.List(n, func(item *config.Node) {
			if value, ok := r.String(item); ok {
				*into = append(*into, Text{Value: value, Where: item.Where})
			}
		})
	}
}

// word decodes one of a closed set of words.
func word[W ~string](r *reader, n *config.Node, known ...W) W {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	text, _ := r.Word(n, words...)
	return W(text)
}

// The modes and network modes, each wider than the ones before.
var (
	modes        = []durward.Mode{durward.ReadOnly, durward.WorkspaceWrite, durward.DangerFullAccess, durward.External}
	networkModes = []durward.NetworkMode{durward.NetNone, durward.NetLoopback, durward.NetAllowlist, durward.NetFull}
)

// narrower gives the first of a and b in an order that goes from narrow to wide.
func narrower[W comparable](order []W, a, b W) W {
	if slices.Index(order, a) <= slices.Index(order, b) {
		return a
	}
	return b
}

// wider reports whether a comes after b in such an order; a word outside it is wider
// than all.
func wider[W comparable](order []W, a, b W) bool {
	i := slices.Index(order, a)
	return i < 0 || i > slices.Index(order, b)
}
