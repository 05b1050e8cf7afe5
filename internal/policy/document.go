package policy

import "github.com/durward/durward"

// A Document is a policy as somebody wrote it: nothing in it has been expanded, and a
// member that was not written holds its zero value.
type Document struct {
	// Where is the place of the whole mapping.
	Where durward.Position

	Mode            durward.Mode
	Level, MinLevel durward.Level
	Require         []durward.Requirement
	Filesystem      Filesystem
	Network         Network
	Limits          durward.Limits
	Env             Env
	Identity        durward.Identity

	// places says where each member was written: "limits.wallMs", "env.set.LANG".
	places map[string]durward.Position
}

// A Text is a string with its place. A verbatim path is taken as it stands: "~", "?"
// and the like mean nothing in it.
type Text struct {
	Value    string
	Where    durward.Position
	verbatim bool
}

// Filesystem is the "filesystem" member of a document.
type Filesystem struct {
	Read, Write, Deny, Protect, Exec []Text
	HostReadOnly, CopyOnWrite        bool
}

// Network is the "network" member of a document.
type Network struct {
	Mode                             durward.NetworkMode
	Allow, AllowPrivate, UnixSockets []Text
	RequireSNI                       bool
}

// Env is the "env" member of a document.
type Env struct {
	Set  map[string]Text
	Pass []Text
}

// Place tells where a member was written, and whether it was: Place("limits.wallMs").
func (d *Document) Place(member string) (durward.Position, bool) {
	at, ok := d.places[member]
	return at, ok
}

func (d *Document) wrote(member string) bool {
	_, ok := d.places[member]
	return ok
}

func (d *Document) write(member string, at durward.Position) {
	if d.places == nil {
		d.places = map[string]durward.Position{}
	}
	d.places[member] = at
}
