package mcppolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// A Policy is a document that was compiled for one machine. Nobody writes to it or to
// what it holds, so that it is safe for concurrent use.
type Policy struct {
	// Document is what was written, as far as the profile leaves it.
	Document *Document
	// Hash is that of the whole document, whatever the profile.
	Hash string
	// Profile is the name of the profile that was chosen, or empty.
	Profile string
	// Roots are the allowed roots that this system has, in their order; at least one.
	Roots []Root
	// WriteRules are in their order.
	WriteRules []WriteRule
	// Commands are those of this platform, sorted by their ids.
	Commands []*Command
	// LogFile is the absolute path of the audit log; empty means none.
	LogFile string
	// Warnings tell what was accepted and is worth a look, with its place.
	Warnings config.Problems

	host    Host
	files   *durward.Files // of the sandbox for all commands, when the policy was loaded
	gitDirs []string       // of the first root, when the policy was loaded
}

// There reports whether a path that was physical when the policy was loaded still is, and
// something is there.
func (p *Policy) There(path string) bool {
	if path == "" {
		return false
	}
	now, err := p.host.Resolve(path)
	return err == nil && now == path
}

// HasDir is There for a directory.
func (p *Policy) HasDir(path string) bool {
	mode, err := p.host.Stat(path)
	return err == nil && mode.IsDir() && p.There(path)
}

// A Root is a directory that files may be read in.
type Root struct {
	Written string
	// Path is the physical one.
	Path  string
	Where durward.Position
}

// A WriteRule lets files be written.
type WriteRule struct {
	Written string
	// Path is the physical one, as far as it exists.
	Path            string
	Recursive       bool
	MaxFileBytes    int64
	CreateIfMissing bool
	Where           durward.Position
}

// Command gives the command called id. The error has the reason
// [durward.CommandUnknown].
func (p *Policy) Command(id string) (*Command, error) {
	i, found := slices.BinarySearchFunc(p.Commands, id, func(c *Command, id string) int { return strings.Compare(c.ID, id) })
	if found {
		return p.Commands[i], nil
	}
	return nil, &durward.Error{
		Reason: durward.CommandUnknown, Op: op, Rule: "commands", Where: p.Document.Where,
		Hint: "choose one of the commands that are listed, or add it to commands",
		Err:  fmt.Errorf("the policy has no command %.64q for this system", id),
	}
}

// Narrow gives the policy that one of its profiles leaves. The error has the reason
// [durward.PolicyInvalid].
func (p *Policy) Narrow(profile string) (*Policy, error) {
	i := slices.IndexFunc(p.Document.Profiles, func(e ProfileEntry) bool { return e.Name.Value == profile })
	if i < 0 {
		return nil, &durward.Error{
			Reason: durward.PolicyInvalid, Where: p.Document.Where,
			Hint: "choose a profile that is written under profiles", Err: fmt.Errorf("the policy has no profile %.64q", profile),
		}
	}
	e, narrowed := p.Document.Profiles[i], *p
	narrowed.Document, narrowed.Profile = p.Document.below(e), profile
	if e.WriteRules.Value == keepNone {
		narrowed.WriteRules = nil
	}
	narrowed.Commands = nil
	for _, c := range p.Commands {
		if e.keeps(c.ID) {
			narrowed.Commands = append(narrowed.Commands, c.under(&narrowed))
		}
	}
	return &narrowed, nil
}

func (e ProfileEntry) keeps(id string) bool { return slices.Contains(values(e.Commands.Value), id) }

// below gives what a profile leaves of the document.
func (d *Document) below(e ProfileEntry) *Document {
	left := *d
	left.Limits = d.Limits.below(e.Limits)
	left.Commands = slices.DeleteFunc(slices.Clone(d.Commands), func(c CommandEntry) bool { return !e.keeps(c.ID.Value) })
	if e.WriteRules.Value == keepNone {
		left.WriteRules = nil
	}
	return &left
}

// below gives the limits with those of a profile in place of its own.
func (e LimitsEntry) below(profile LimitsEntry) LimitsEntry {
	from := profile.fields()
	for i, f := range e.fields() {
		if v := from[i].holds.(*count).into; v.Value != 0 {
			*f.holds.(*count).into = *v
		}
	}
	return e
}
