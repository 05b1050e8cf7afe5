package object

import (
	"encoding/json"
	"slices"

	"github.com/durward/durward"
)

// The names of what the older form has. Each goes round in two spellings.
const (
	inPolicy     = "sandbox.sandboxPolicy"
	inAdditional = "sandbox.additionalPermissions"
)

// A policy is the older form's "sandboxPolicy".
type policy struct {
	Type *string `json:"type"`

	Access          json.RawMessage `json:"access"`
	ReadOnlyAccess  json.RawMessage `json:"read_only_access"`
	ReadOnlyAccess2 json.RawMessage `json:"readOnlyAccess"`

	NetworkAccess  json.RawMessage `json:"network_access"`
	NetworkAccess2 json.RawMessage `json:"networkAccess"`

	WritableRoots  *[]string `json:"writable_roots"`
	WritableRoots2 *[]string `json:"writableRoots"`

	ExcludeTmpdir    *bool `json:"exclude_tmpdir_env_var"`
	ExcludeTmpdir2   *bool `json:"excludeTmpdirEnvVar"`
	ExcludeSlashTmp  *bool `json:"exclude_slash_tmp"`
	ExcludeSlashTmp2 *bool `json:"excludeSlashTmp"`
}

// policy reads the older form.
func (r *reader) policy() error {
	var p policy
	if err := decode(inPolicy, r.object.SandboxPolicy, &p); err != nil {
		return err
	}
	if p.Type == nil {
		return missing(inPolicy + ".type")
	}
	var err error
	var members []string
	switch *p.Type {
	case "danger-full-access", "dangerFullAccess":
		r.c.Mode, r.c.Network = durward.DangerFullAccess, durward.NetFull
		err = p.networkOpen()
	case "external-sandbox", "externalSandbox":
		r.c.Mode = durward.External
		r.c.Network, err = p.networkWord()
	case "read-only", "readOnly":
		members = []string{"access"}
		err = r.readOnly(p)
	case "workspace-write", "workspaceWrite":
		members = []string{"read_only_access", "writable_roots"}
		err = r.workspaceWrite(p)
	default:
		return wrong(inPolicy+".type", "it is none that is known")
	}
	if err == nil {
		err = p.unmixed(members)
	}
	if err != nil {
		return err
	}
	return r.additional()
}

// unmixed refuses a member about files that is of another type: it would be passed over, and
// may ask for less.
func (p policy) unmixed(own []string) error {
	for _, m := range []struct {
		name  string
		there bool
	}{
		{"access", !absent(p.Access)},
		{"read_only_access", !absent(p.ReadOnlyAccess) || !absent(p.ReadOnlyAccess2)},
		{"writable_roots", p.WritableRoots != nil || p.WritableRoots2 != nil},
	} {
		if m.there && !slices.Contains(own, m.name) {
			return wrong(inPolicy+"."+m.name, "it is no member of that type")
		}
	}
	return nil
}

func (r *reader) readOnly(p policy) (err error) {
	if r.c.Network, err = p.networkBool(); err != nil {
		return err
	}
	full, err := r.access(inPolicy+".access", p.Access)
	if err == nil && !full && r.env.Cwd != "" {
		// A process could not begin in a directory that it does not see.
		r.add(durward.Entry{Path: r.cwd, Access: durward.AccessRead, IfThere: true, Member: inPolicy + ".access"})
	}
	return err
}

func (r *reader) workspaceWrite(p policy) (err error) {
	if r.c.Network, err = p.networkBool(); err != nil {
		return err
	}
	if err := r.writableRoots(p); err != nil {
		return err
	}
	const member = inPolicy + ".read_only_access"
	access, err := either(member, rawOf(p.ReadOnlyAccess), rawOf(p.ReadOnlyAccess2))
	if err != nil {
		return err
	}
	_, err = r.access(member, access)
	return err
}

// writableRoots adds all that is written.
func (r *reader) writableRoots(p policy) error {
	const member = inPolicy + ".writable_roots"
	texts, err := either(member, p.WritableRoots, p.WritableRoots2)
	if err != nil {
		return err
	}
	roots, err := pathsOf(member, texts)
	if err != nil {
		return err
	}
	if r.cwd == "" {
		return missing("sandbox.cwd")
	}
	for _, root := range append([]string{r.cwd}, roots...) {
		r.add(durward.Entry{Path: root, Access: durward.AccessWrite, Member: member})
	}
	for _, temporary := range []struct {
		member       string
		first, other *bool
		dirs         []string
	}{
		{inPolicy + ".exclude_slash_tmp", p.ExcludeSlashTmp, p.ExcludeSlashTmp2, []string{slashTmp}},
		{inPolicy + ".exclude_tmpdir_env_var", p.ExcludeTmpdir, p.ExcludeTmpdir2, r.tmpDir()},
	} {
		excluded, err := either(temporary.member, temporary.first, temporary.other)
		if err != nil {
			return err
		}
		for _, dir := range temporary.dirs {
			if !excluded {
				r.add(durward.Entry{Path: dir, Access: durward.AccessWrite, IfThere: true, Member: temporary.member})
			}
		}
	}
	return nil
}

// slashTmp is the directory that has that name for everybody.
const slashTmp = "/tmp"

// tmpDir gives what TMPDIR names.
func (r *reader) tmpDir() []string {
	if dir := clean(r.env.TmpDir); dir != "" {
		return []string{dir}
	}
	return nil
}

// access adds what is read, and reports whether that is everything.
func (r *reader) access(member string, raw json.RawMessage) (full bool, err error) {
	var a struct {
		Type           *string   `json:"type"`
		Platform       *bool     `json:"include_platform_defaults"`
		Platform2      *bool     `json:"includePlatformDefaults"`
		ReadableRoots  *[]string `json:"readable_roots"`
		ReadableRoots2 *[]string `json:"readableRoots"`
	}
	if absent(raw) {
		r.add(durward.Entry{Path: "/", Access: durward.AccessRead, Member: member})
		return true, nil
	}
	if err := decode(member, raw, &a); err != nil {
		return false, err
	}
	if a.Type == nil {
		return false, missing(member + ".type")
	}
	switch *a.Type {
	case "full-access", "fullAccess":
		r.add(durward.Entry{Path: "/", Access: durward.AccessRead, Member: member})
		return true, nil
	case "restricted":
	default:
		return false, wrong(member+".type", "it is none that is known")
	}
	platform, err := either(member+".include_platform_defaults", orTrue(a.Platform, a.Platform2), a.Platform2)
	if err != nil {
		return false, err
	}
	if platform {
		r.add(durward.Entry{Platform: true, Access: durward.AccessRead, Member: member})
	}
	return false, r.readableRoots(member+".readable_roots", a.ReadableRoots, a.ReadableRoots2)
}

// orTrue gives what is taken for a member that is there in neither spelling.
func orTrue(first, other *bool) *bool {
	if first == nil && other == nil {
		yes := true
		return &yes
	}
	return first
}

// readableRoots adds what is to be read. What lies in a writable root stays writable: this
// form has no other word for a directory in it than to write it.
func (r *reader) readableRoots(member string, first, other *[]string) error {
	texts, err := either(member, first, other)
	if err != nil {
		return err
	}
	roots, err := pathsOf(member, texts)
	for _, root := range roots {
		if !r.writes(root) {
			r.add(durward.Entry{Path: root, Access: durward.AccessRead, Member: member})
		}
	}
	return err
}

// writes reports whether an entry lets a path be written.
func (r *reader) writes(name string) bool {
	for _, e := range r.c.Entries {
		if e.Access == durward.AccessWrite && contains(e.Path, name) {
			return true
		}
	}
	return false
}

// networkBool reads "network_access" where it is true or false.
func (p policy) networkBool() (durward.NetworkMode, error) {
	var enabled bool
	if err := p.network(&enabled); err != nil {
		return "", err
	}
	return networkOf(enabled), nil
}

// networkWord reads "network_access" where it is a word.
func (p policy) networkWord() (durward.NetworkMode, error) {
	word := restricted
	if err := p.network(&word); err != nil {
		return "", err
	}
	return networkOfWord(inPolicy+".network_access", &word)
}

// networkOpen refuses a network that is closed, in either way to say so.
func (p policy) networkOpen() error {
	const member = inPolicy + ".network_access"
	raw, err := either(member, rawOf(p.NetworkAccess), rawOf(p.NetworkAccess2))
	if err == nil && !absent(raw) && string(raw) != "true" && string(raw) != `"`+enabled+`"` {
		err = wrong(member, "the type leaves it open")
	}
	return err
}

// network leaves what is in into where the member is not there.
func (p policy) network(into any) error {
	const member = inPolicy + ".network_access"
	raw, err := either(member, rawOf(p.NetworkAccess), rawOf(p.NetworkAccess2))
	if err != nil || absent(raw) {
		return err
	}
	return decode(member, raw, into)
}

func networkOf(enabled bool) durward.NetworkMode {
	if enabled {
		return durward.NetFull
	}
	return durward.NetNone
}

// either gives the member that has two spellings, and the zero value where it has none.
func either[T any](member string, first, other *T) (value T, err error) {
	switch {
	case first != nil && other != nil:
		return value, wrong(member, "it stands there in two spellings")
	case first != nil:
		value = *first
	case other != nil:
		value = *other
	}
	return value, nil
}

func rawOf(raw json.RawMessage) *json.RawMessage {
	if absent(raw) {
		return nil
	}
	return &raw
}
