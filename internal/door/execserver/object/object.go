// Package object reads the "sandbox" object of the exec server's requests: what a caller
// wants its call to be held to, in either of two forms.
//
//	{"sandboxPolicy": {"type": "workspace-write", "writable_roots": ["/work"]}}
//
//	{"permissions": {"type": "managed", "network": "restricted", "file_system": {
//	   "type": "restricted", "entries": [
//	     {"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"},
//	     {"path": {"type": "path", "path": "file:///work"}, "access": "write"}]}},
//	 "windowsSandboxLevel": "disabled"}
//
// Members that neither form knows are passed over and null is as good as absence. What is
// incomplete, unknown or contradicts itself is refused: nothing runs less confined than
// somebody may have meant.
package object

import (
	"encoding/json"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// An Environment is what the words of an object stand for.
type Environment struct {
	// Cwd is the absolute working directory of the process to be started. It is empty for a
	// call that starts none.
	Cwd string
	// ServerCwd is the absolute working directory of the server: the last that is taken for
	// the older form, where nobody names another one.
	ServerCwd string
	// TmpDir is the value of TMPDIR: that of the process, or the server's own. One that is
	// not absolute stands for nothing.
	TmpDir string
}

// Parse gives the confinement that an object asks for, and nil where there is no object. The
// error has reason WrongType or MissingField, or that of [fileuri.Parse] for a path.
func Parse(raw json.RawMessage, env Environment) (*durward.Confinement, error) {
	if absent(raw) {
		return nil, nil
	}
	var o written
	if err := decode("sandbox", raw, &o); err != nil {
		return nil, err
	}
	r := reader{env: env, object: &o}
	if err := r.read(); err != nil {
		return nil, err
	}
	return &r.c, nil
}

// A written object is as the caller wrote it.
type written struct {
	SandboxPolicy         json.RawMessage `json:"sandboxPolicy"`
	Permissions           json.RawMessage `json:"permissions"`
	AdditionalPermissions json.RawMessage `json:"additionalPermissions"`

	Cwd                  *string        `json:"cwd"`
	PolicyContext        *policyContext `json:"policyContext"`
	WorkspaceRoots       []string       `json:"workspaceRoots"`
	TemporaryDirectories []string       `json:"temporaryDirectories"`
	UserHomeDir          *string        `json:"userHomeDir"`

	WindowsSandboxLevel          *string `json:"windowsSandboxLevel"`
	WindowsSandboxPrivateDesktop *bool   `json:"windowsSandboxPrivateDesktop"`
	UseLegacyLandlock            *bool   `json:"useLegacyLandlock"`
}

type policyContext struct {
	Cwd            *string  `json:"cwd"`
	WorkspaceRoots []string `json:"workspaceRoots"`
}

// A reader turns one object into a confinement.
type reader struct {
	env    Environment
	object *written
	c      durward.Confinement

	cwd   string   // as far as anybody names one
	roots []string // of the workspace
}

func (r *reader) read() error {
	if err := r.context(); err != nil {
		return err
	}
	var err error
	switch o := r.object; {
	case absent(o.SandboxPolicy) && absent(o.Permissions):
		return missing("sandbox.permissions")
	case !absent(o.SandboxPolicy) && !absent(o.Permissions):
		return wrong("sandbox", "permissions and sandboxPolicy contradict each other")
	case absent(o.Permissions):
		err = r.policy()
	default:
		err = r.permissions()
	}
	if err != nil {
		return err
	}
	return r.finish()
}

// context settles what the words stand for that mean a directory.
func (r *reader) context() error {
	o := r.object
	inner := o.PolicyContext
	if inner == nil {
		inner = &policyContext{}
	}
	if level := o.WindowsSandboxLevel; level != nil && *level != "disabled" {
		return wrong("sandbox.windowsSandboxLevel", "it is not \"disabled\"")
	}
	for _, p := range []*string{o.UserHomeDir, inner.Cwd, o.Cwd} {
		if p == nil {
			continue
		}
		cwd, err := pathOf("sandbox.cwd", *p)
		if err != nil {
			return err
		}
		if p != o.UserHomeDir {
			r.cwd = cwd
		}
	}
	if r.cwd == "" {
		r.cwd = clean(r.env.Cwd)
	}
	if r.cwd == "" && absent(o.Permissions) { // the newer form names what it is about
		r.cwd = clean(r.env.ServerCwd)
	}
	return r.workspace(inner.WorkspaceRoots)
}

// workspace settles the roots of the workspace: those that are named, or else the working
// directory.
func (r *reader) workspace(inContext []string) error {
	const member = "sandbox.workspaceRoots"
	named, err := pathsOf(member, r.object.WorkspaceRoots)
	if err != nil {
		return err
	}
	also, err := pathsOf("sandbox.policyContext.workspaceRoots", inContext)
	switch {
	case err != nil:
		return err
	case len(named) > 0 && len(also) > 0 && !sameSet(named, also):
		return wrong(member, "policyContext.workspaceRoots contradicts it")
	case len(named) > 0:
		r.roots = named
	case len(also) > 0:
		r.roots = also
	case r.cwd != "":
		r.roots = []string{r.cwd}
	}
	return nil
}

// add adds an entry.
func (r *reader) add(e durward.Entry) { r.c.Entries = append(r.c.Entries, e) }

// finish settles the mode, and what is protected in every writable root.
func (r *reader) finish() error {
	if r.c.Mode != "" {
		return nil
	}
	r.c.Mode = durward.ReadOnly
	for _, e := range r.c.Entries {
		if e.Access == durward.AccessWrite {
			r.c.Mode = durward.WorkspaceWrite
			r.protect(e)
		}
	}
	return r.bounded("sandbox")
}

// bounded refuses what comes to too much.
func (r *reader) bounded(member string) error {
	if len(r.c.Entries) > durward.MaxEntries {
		return wrong(member, "it comes to more than %d entries", durward.MaxEntries)
	}
	return nil
}

// protected are the names that no command writes in a directory it is given to write.
var protected = [...]string{".git", ".agents", ".codex"}

func (r *reader) protect(root durward.Entry) {
	for _, name := range protected {
		r.add(durward.Entry{Path: join(root.Path, name), Access: durward.AccessProtect, Member: root.Member})
	}
}

// absent reports whether a member is not there.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// decode reads a member that may have others that are not known.
func decode(member string, raw json.RawMessage, into any) error {
	if err := jsonx.Decode(raw, into, jsonx.Options{IgnoreUnknown: true}); err != nil {
		return wrong(member, "%w", err)
	}
	return nil
}
