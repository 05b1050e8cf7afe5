package policy

import (
	"slices"

	"github.com/durward/durward"
)

// Flags change the built-in policy of a door. The zero value changes nothing.
type Flags struct {
	// Read and Write are absolute paths that exist. Nothing in them is expanded.
	Read, Write []string
	// CopyOnWrite lets the workspace be written, and has all that is written land in copies.
	CopyOnWrite bool
	// AllowNet holds "host:port" entries.
	AllowNet []string
	// Level runs at exactly this level and asks only for what it is made of. LevelAuto
	// means the best there is.
	Level durward.Level
	// Limits are the door's own; a zero member means the usual default.
	Limits durward.Limits
}

// Default gives the policy of a command for which nobody wrote one: it reads the system
// and the workspace, has a private temporary directory and no network, and writes to
// what Flags names.
//
// Its grants step down to what the host can hold, but for what a flag asks for: that is
// firm. With a level nothing steps down. The error is that of [Compile]; the file of
// its places is the flag at fault.
func Default(host Host, flags Flags) (*Policy, error) {
	doc := &Document{Mode: durward.ReadOnly, Limits: flags.Limits}
	doc.Filesystem.Read = flagTexts("", setSystem)
	if host.Workspace != "" {
		doc.Filesystem.Read = append(doc.Filesystem.Read, flagTexts("--root", "${workspace}")...)
	}
	flags.read(doc)
	flags.write(doc)
	flags.copyOnWrite(doc)
	flags.allowNet(doc)
	flags.level(doc)
	p, err := Compile(doc, host)
	if err != nil {
		return nil, err
	}
	if flags.Level == durward.LevelAuto {
		p.grant.StepDown = true
		p.grant.Require = append(p.grant.Require, flags.firm()...)
		normalise(&p.grant)
	}
	return p.sealed(), nil
}

func flagTexts(flag string, values ...string) []Text {
	texts := make([]Text, len(values))
	for i, v := range values {
		texts[i] = Text{Value: v, Where: durward.Position{File: flag}}
	}
	return texts
}

func verbatim(flag string, values []string) []Text {
	texts := flagTexts(flag, values...)
	for i := range texts {
		texts[i].verbatim = true
	}
	return texts
}

func (f Flags) read(doc *Document) {
	if len(f.Read) == 0 {
		return
	}
	doc.Filesystem.Read = append(doc.Filesystem.Read, verbatim("--read", f.Read)...)
	doc.write("filesystem.read", durward.Position{File: "--read"})
}

func (f Flags) write(doc *Document) {
	if len(f.Write) == 0 {
		return
	}
	doc.Mode = durward.WorkspaceWrite
	doc.Filesystem.Write = append(flagTexts("", setTmp), verbatim("--write", f.Write)...)
	doc.write("mode", durward.Position{File: "--write"})
	doc.write("filesystem.write", durward.Position{File: "--write"})
}

func (f Flags) copyOnWrite(doc *Document) {
	if !f.CopyOnWrite {
		return
	}
	doc.Mode, doc.Filesystem.CopyOnWrite = durward.WorkspaceWrite, true
	if len(f.Write) == 0 {
		doc.Filesystem.Write = flagTexts("", setTmp)
	}
	doc.Filesystem.Write = append(doc.Filesystem.Write, flagTexts("--cow", "${workspace}")...)
	for _, member := range []string{"mode", "filesystem.write", "filesystem.copyOnWrite"} {
		doc.write(member, durward.Position{File: "--cow"})
	}
}

func (f Flags) allowNet(doc *Document) {
	if len(f.AllowNet) == 0 {
		return
	}
	doc.Network.Mode, doc.Network.Allow = durward.NetAllowlist, flagTexts("--allow-net", f.AllowNet...)
	doc.write("network.mode", durward.Position{File: "--allow-net"})
	doc.write("network.allow", durward.Position{File: "--allow-net"})
}

func (f Flags) level(doc *Document) {
	if f.Level == durward.LevelAuto {
		return
	}
	doc.Level, doc.MinLevel = f.Level, f.Level
	for _, r := range requiredBy(doc.Mode) {
		if f.Level >= madeOf(r.Guarantee) {
			doc.Require = append(doc.Require, r)
		}
	}
	if len(f.AllowNet) > 0 {
		doc.Require = append(doc.Require, durward.Requirement{Guarantee: durward.Net})
	}
	if f.Level < durward.LevelIsolate {
		doc.Filesystem.Protect = []Text{} // paths inside a writable one take a private root
	}
	for _, member := range []string{"level", "minLevel", "require"} {
		doc.write(member, durward.Position{File: "--level"})
	}
}

// madeOf gives the lowest level that holds a guarantee.
func madeOf(g durward.Guarantee) durward.Level {
	switch {
	case slices.Contains([]durward.Guarantee{durward.Kill, durward.Mem, durward.Pids}, g):
		return durward.LevelNone
	case slices.Contains([]durward.Guarantee{durward.FSMeta, durward.Proc, durward.IPC}, g):
		return durward.LevelIsolate
	}
	return durward.LevelRestrict
}

// firm lists the guarantees that the flags were written for.
func (f Flags) firm() []durward.Requirement {
	var list []durward.Requirement
	for _, row := range []struct {
		written   []string
		guarantee durward.Guarantee
	}{{f.Read, durward.FSRead}, {f.Write, durward.FSWrite}, {f.AllowNet, durward.Net}} {
		if len(row.written) > 0 {
			list = append(list, durward.Requirement{Guarantee: row.guarantee, Firm: true})
		}
	}
	return list
}
