package policy

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

// Compile makes a policy out of a document for this host. It expands paths, resolves
// them and copies variables, once; the policy does not follow later changes.
//
// The error has the reason [durward.PolicyInvalid] and names every mistake with its
// place.
func Compile(doc *Document, host Host) (*Policy, error) {
	c := &compiler{doc: doc, host: host, p: Policy{
		places: maps.Clone(doc.places), source: doc.Where, foldEnv: host.goos() == "windows",
	}}
	c.grant = &c.p.grant
	c.confinement()
	c.files()
	c.network()
	c.uselessEntries()
	c.environment()
	c.grant.Limits = doc.Limits.WithDefaults()
	c.grant.Keep = durward.KeepHeadTail
	if err := c.problems.Err(); err != nil {
		return nil, Invalid(err)
	}
	normalise(c.grant)
	return c.p.sealed(), nil
}

// A compiler puts one policy together.
type compiler struct {
	doc      *Document
	host     Host
	p        Policy
	grant    *durward.Grant
	denied   []string // the default secrets, as far as they stay denied
	problems config.Problems
}

// problem notes a mistake at a member, or at the document when the member is absent.
func (c *compiler) problem(member, format string, args ...any) {
	at, ok := c.doc.Place(member)
	if !ok {
		at = c.doc.Where
	}
	c.problems.Add(at, format, args...)
}

// confinement settles mode, levels, guarantees and identity.
func (c *compiler) confinement() {
	g, d := c.grant, c.doc
	g.Mode = d.Mode
	if g.Mode == "" {
		g.Mode = durward.ReadOnly
	}
	g.Level, g.MinLevel, g.Identity = d.Level, d.MinLevel, d.Identity
	if g.Level != durward.LevelAuto && g.Level < g.MinLevel {
		c.problem("minLevel", "minLevel %d asks for more than level %d gives", g.MinLevel.Number(), g.Level.Number())
	}
	if !g.Mode.Confines() && !d.wrote("identity") {
		g.Identity.Keep = true
	}
	g.Require = d.Require
	if !d.wrote("require") {
		g.Require = requiredBy(g.Mode)
	}
	// Where files are not confined a narrower network is the one thing to hold.
	if g.Mode == durward.DangerFullAccess && d.wrote("network.mode") && d.Network.Mode != durward.NetFull && !d.wrote("require") {
		g.Require = append(g.Require, durward.Requirement{Guarantee: durward.Net})
	}
}

// requiredBy gives the guarantees that a mode stands on.
func requiredBy(m durward.Mode) []durward.Requirement {
	var held []durward.Guarantee
	switch m {
	case durward.ReadOnly:
		held = []durward.Guarantee{durward.FSRead, durward.FSWrite, durward.Net, durward.Unix}
	case durward.WorkspaceWrite:
		held = []durward.Guarantee{
			durward.FSRead, durward.FSWrite, durward.Net, durward.Unix,
			durward.FSMeta, durward.Proc, durward.Kill, durward.Pids,
		}
	}
	require := make([]durward.Requirement, len(held))
	for i, g := range held {
		require[i].Guarantee = g
	}
	return require
}

func (c *compiler) network() {
	n, d := &c.grant.Network, c.doc.Network
	n.Mode = d.Mode
	if n.Mode == "" {
		n.Mode = durward.NetNone
		if c.grant.Mode == durward.DangerFullAccess {
			n.Mode = durward.NetFull
		}
		if len(d.Allow) > 0 {
			c.problem("network.allow", "network.allow has no effect without network.mode: allowlist")
		}
	}
	allow := c.canonical(d.Allow, canonicalEndpoint)
	private := c.canonical(d.AllowPrivate, canonicalRange)
	n.UnixSockets = c.paths("network.unixSockets", d.UnixSockets)
	if n.Mode != durward.NetAllowlist {
		return
	}
	if len(d.Allow) == 0 {
		c.problem("network.mode", "network.mode allowlist needs an entry in network.allow")
	}
	n.Allow, n.AllowPrivate = allow, private
	n.RequireSNI = d.RequireSNI || !c.doc.wrote("network.requireSNI")
}

func (c *compiler) canonical(texts []Text, form func(string) (string, error)) []string {
	var list []string
	for _, t := range texts {
		text, err := form(t.Value)
		if err != nil {
			c.problems.Add(t.Where, "%s", err)
			continue
		}
		list = append(list, text)
	}
	return list
}

func (c *compiler) environment() {
	c.grant.Env = c.baseEnv()
	c.grant.PrivateDir = []string{"HOME", "TMPDIR"}
	c.p.passed = map[string]bool{}
	for _, name := range c.doc.Env.Pass {
		c.pass(name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.doc.Env.Set)) {
		c.set(name, c.doc.Env.Set[name])
	}
}

func (c *compiler) baseEnv() map[string]string {
	if c.host.goos() != "windows" {
		dirs := filter(strings.Split(basePath, ":"), c.safePath)
		return map[string]string{"PATH": strings.Join(dirs, ":"), "LANG": "C.UTF-8"}
	}
	root := c.host.Environ["SystemRoot"]
	if root == "" {
		root = `C:\Windows`
	}
	env := map[string]string{"SystemRoot": root, "PATH": root + `\System32;` + root, "LANG": "C.UTF-8"}
	for _, name := range []string{"SystemDrive", "PATHEXT"} {
		if value, ok := c.host.Environ[name]; ok {
			env[name] = value
		}
	}
	return env
}

func (c *compiler) pass(name Text) {
	family, _ := reserved(name.Value)
	switch {
	case !envName().MatchString(name.Value):
		c.problems.Add(name.Where, "%q is not a name of a variable", name.Value)
		return
	case family != "":
		c.problems.Add(name.Where, "%s is never passed on%s", name.Value, because(family))
		return
	case strings.EqualFold(name.Value, "PATH"):
		c.problems.Add(name.Where, "PATH is fixed; a policy may give it a value under env.set")
		return
	}
	value, ok := c.host.Environ[name.Value]
	if !ok {
		return
	}
	c.give(name.Value, value, name.Where)
	c.p.passed[name.Value] = true
}

func (c *compiler) set(name string, value Text) {
	family, settable := reserved(name)
	switch {
	case !envName().MatchString(name):
		c.problems.Add(value.Where, "%q is not a name of a variable", name)
	case strings.ContainsRune(value.Value, 0):
		c.problems.Add(value.Where, "the value of %s holds a NUL byte", name)
	case family != "" && !settable:
		c.problems.Add(value.Where, "%s is refused in every environment%s", name, because(family))
	case strings.EqualFold(name, "PATH") && !c.safePath(value.Value):
		c.problems.Add(value.Where, "PATH may only hold absolute directories that the command cannot write")
	default:
		c.give(name, value.Value, value.Where)
		delete(c.p.passed, name)
	}
}

// give puts a variable into the environment of every command.
func (c *compiler) give(name, value string, at durward.Position) {
	c.grant.Env[name] = value
	c.grant.PrivateDir = slices.DeleteFunc(c.grant.PrivateDir, func(n string) bool { return n == name })
	if c.p.places == nil {
		c.p.places = map[string]durward.Position{}
	}
	c.p.places["env."+name] = at
}

// safePath reports whether a program found through path is one the command cannot have
// put there.
func (c *compiler) safePath(path string) bool {
	for _, dir := range filepath.SplitList(path) {
		physical, _, err := c.physical(dir)
		if err != nil || !filepath.IsAbs(dir) {
			return false
		}
		if c.grant.Mode.Confines() && accessAt(c.grant.Files, physical) == writeAccess {
			return false
		}
	}
	return path != "" && utf8.ValidString(path)
}

// because explains why a family of names is refused.
func because(family string) string {
	if family == "*_PROXY" {
		return ": traffic goes where network.mode says"
	}
	return ": it can make a program run something else (" + family + ")"
}
