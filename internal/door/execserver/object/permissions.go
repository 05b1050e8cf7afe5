package object

import (
	"encoding/json"

	"github.com/durward/durward"
)

// The names of what the newer form has.
const (
	inPermissions = "sandbox.permissions"
	inFiles       = inPermissions + ".file_system"
	inEntries     = inFiles + ".entries"
)

// The words for a network.
const (
	restricted = "restricted"
	enabled    = "enabled"
)

// permissions reads the newer form.
func (r *reader) permissions() error {
	var p struct {
		Type       *string         `json:"type"`
		Network    *string         `json:"network"`
		FileSystem json.RawMessage `json:"file_system"`
	}
	if err := decode(inPermissions, r.object.Permissions, &p); err != nil {
		return err
	}
	switch {
	case p.Type == nil:
		return missing(inPermissions + ".type")
	case r.object.WindowsSandboxLevel == nil:
		return missing("sandbox.windowsSandboxLevel")
	}
	if *p.Type != "managed" && !absent(p.FileSystem) {
		return wrong(inFiles, "it is no member of that type")
	}
	var err error
	switch *p.Type {
	case "disabled":
		r.c.Mode, r.c.Network = durward.DangerFullAccess, durward.NetFull
		if p.Network != nil && *p.Network != enabled {
			err = wrong(inPermissions+".network", "the type leaves it open")
		}
	case "external":
		r.c.Mode = durward.External
		r.c.Network, err = networkOfWord(inPermissions+".network", p.Network)
	case "managed":
		if absent(p.FileSystem) {
			return missing(inFiles)
		}
		if r.c.Network, err = networkOfWord(inPermissions+".network", p.Network); err == nil {
			err = r.files(p.FileSystem)
		}
	default:
		return wrong(inPermissions+".type", "it is none that is known")
	}
	return err
}

func networkOfWord(member string, word *string) (durward.NetworkMode, error) {
	switch {
	case word == nil:
		return "", missing(member)
	case *word == restricted:
		return durward.NetNone, nil
	case *word == enabled:
		return durward.NetFull, nil
	}
	return "", wrong(member, "it is none that is known")
}

// files reads "file_system".
func (r *reader) files(raw json.RawMessage) error {
	var f struct {
		Type             *string  `json:"type"`
		Entries          *[]entry `json:"entries"`
		GlobScanMaxDepth *uint64  `json:"glob_scan_max_depth"` // all of a tree is searched
	}
	if err := decode(inFiles, raw, &f); err != nil {
		return err
	}
	switch {
	case f.Type == nil:
		return missing(inFiles + ".type")
	case *f.Type == "unrestricted" && f.Entries != nil && len(*f.Entries) > 0:
		return wrong(inEntries, "the type restricts nothing")
	case *f.Type == "unrestricted":
		r.c.Mode = durward.DangerFullAccess
		return nil
	case *f.Type != "restricted":
		return wrong(inFiles+".type", "it is none that is known")
	case f.Entries == nil:
		return missing(inEntries)
	}
	for _, e := range *f.Entries {
		if err := r.entry(e); err != nil {
			return err
		}
		if err := r.bounded(inEntries); err != nil {
			return err
		}
	}
	return nil
}

// An entry is one of "entries".
type entry struct {
	Path    *target `json:"path"`
	Access  *string `json:"access"`
	Missing *string `json:"missing_path_behavior"`
}

// A target is what an entry is about.
type target struct {
	Type    *string  `json:"type"`
	Path    *string  `json:"path"`
	Pattern *string  `json:"pattern"`
	Value   *special `json:"value"`
}

// A special is a directory by what it is to the caller.
type special struct {
	Kind    *string `json:"kind"`
	Subpath *string `json:"subpath"`
}

var accesses = map[string]durward.Access{
	"read": durward.AccessRead, "write": durward.AccessWrite, "deny": durward.AccessDeny, "none": durward.AccessDeny,
}

func (r *reader) entry(e entry) error {
	switch {
	case e.Path == nil || e.Path.Type == nil:
		return missing(inEntries + ".path")
	case e.Access == nil:
		return missing(inEntries + ".access")
	case e.Missing != nil && *e.Missing != "skip":
		return wrong(inEntries+".missing_path_behavior", "it is not \"skip\"")
	}
	access, known := accesses[*e.Access]
	if !known {
		return wrong(inEntries+".access", "it is none that is known")
	}
	plain := durward.Entry{Access: access, IfThere: e.Missing != nil, Member: inEntries}
	switch *e.Path.Type {
	case "path":
		if e.Path.Path == nil {
			return missing(inEntries + ".path.path")
		}
		name, err := pathOf(inEntries+".path", *e.Path.Path)
		if err == nil {
			plain.Path = name
			r.add(plain)
		}
		return err
	case "glob_pattern":
		return r.pattern(plain, e.Path.Pattern)
	case "special":
		return r.special(plain, e.Path.Value)
	}
	return wrong(inEntries+".path.type", "it is none that is known")
}
