package site

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
)

// Config says what a site serves and how. Root is required, unless pages come from a
// resolver; StateDir, unless records go to a recorder. The zero value of every other
// field is its default.
type Config struct {
	// Root is the directory of the pages.
	Root string
	// StateDir is where the audit log is kept, in the folder audit.
	StateDir string
	// Host and Port say where a program that serves the site is to listen; [New] starts
	// no listener. The defaults are 127.0.0.1 and 8000; port 0 stays 0.
	Host   string
	Port   int
	Limits Limits
	// Env are the server's variables: commands get them, $NAME in a literal means them,
	// and no request can override them.
	Env map[string]string
	// AllowEnv names reserved variables that a request may set on every page.
	AllowEnv []string
	// Path is the PATH of commands. Empty means /usr/local/bin:/usr/bin:/bin.
	Path string
	// Hidden names files and directories, by their physical paths, that are not found in
	// the site.
	Hidden []string
	// NoArgumentGuard lets callers name any path in their arguments.
	NoArgumentGuard bool
	// Components runs the components of pages when they are read.
	Components bool
	HTTP       HTTP
	// DataEnvelope puts answers into a member called data.
	DataEnvelope bool
	// AllowedHosts and AllowedOrigins list what Host and Origin headers may hold beside
	// the server's own.
	AllowedHosts, AllowedOrigins []string
	// Tokens are the credentials that are asked for. Without any, everybody is served.
	Tokens Tokens
	// MaxConcurrent commands run at once, 16 by default, and MaxQueue wait, 64 by
	// default; none wait where it is negative.
	MaxConcurrent, MaxQueue int
	// ShutdownGrace is how long running requests may go on once a program that serves
	// the site is to end: 10 s by default.
	ShutdownGrace time.Duration
	// Sandbox is the operator's policy for commands. The zero value is the built-in
	// one: they read the site and the system, write nothing and have no network, as far
	// as this machine can hold it.
	Sandbox Sandbox
	// SandboxLevel runs commands at exactly this level. LevelAuto is what Sandbox says; or,
	// where that is built in, the best that this machine has.
	SandboxLevel durward.Level
	// AllowNet lists "host:port" pairs that commands may reach. It takes a built-in Sandbox.
	AllowNet []string
	// Home is what "~" means in Sandbox; without one it is a mistake there.
	Home string
	// Environ is what "pass" in Sandbox copies variables from. Nothing else of it reaches
	// a command.
	Environ map[string]string
	// Own lists files and directories, by absolute path, that no command is to write,
	// whatever Sandbox lets it write: those that say how the site is run and what it did.
	Own []string
	// Logger receives diagnostics. Nil discards them.
	Logger *slog.Logger
}

// Limits bound one command.
type Limits struct {
	// Timeout is for the whole call. Zero means 30 s.
	Timeout time.Duration
	// OutputBytes is for stdout and stderr together. Zero means 1 MiB.
	OutputBytes int64
	// ListItems is for what glob lists. Zero means 1000.
	ListItems int
}

// HTTP is the built-in command curl.
type HTTP struct {
	Enabled bool
	// Ports may be reached beside 80 and 443.
	Ports []uint16
}

// A Token is a credential, by the name that records show and the digest of its text.
type Token struct {
	Name   string
	SHA256 [sha256.Size]byte
}

// Tokens are credentials.
type Tokens []Token

func (t Tokens) tokens() httpedge.Tokens {
	list := make(httpedge.Tokens, len(t))
	for i, token := range t {
		list[i] = httpedge.Token(token)
	}
	return list
}

// Sandbox is a policy for commands, as [ParseSandbox] reads it.
type Sandbox struct {
	document *policy.Document
}

// IsBuiltIn reports whether nobody wrote the policy: then a part of it that the machine
// cannot hold is left out instead of refusing commands.
func (s Sandbox) IsBuiltIn() bool { return s.document == nil }

// ParseSandbox reads a policy: a mapping in YAML or JSON. file stands in the places that
// an error names.
func ParseSandbox(file string, text []byte) (Sandbox, error) {
	doc, err := policy.Parse(file, text)
	return Sandbox{doc}, err
}

// The defaults.
const (
	DefaultHost    = "127.0.0.1"
	DefaultPort    = 8000
	defaultTimeout = 30 * time.Second
	defaultOutput  = 1 << 20
	defaultItems   = 1000
	defaultGrace   = 10 * time.Second
	// killGrace is what a command gets between TERM and KILL.
	killGrace = time.Second
)

func (c Config) withDefaults() Config {
	if c.Limits.Timeout == 0 {
		c.Limits.Timeout = defaultTimeout
	}
	if c.Limits.OutputBytes == 0 {
		c.Limits.OutputBytes = defaultOutput
	}
	if c.Limits.ListItems == 0 {
		c.Limits.ListItems = defaultItems
	}
	if c.ShutdownGrace == 0 {
		c.ShutdownGrace = defaultGrace
	}
	if c.Host == "" {
		c.Host = DefaultHost
	}
	return c
}

func (c Config) check() error {
	switch {
	case c.Limits.Timeout < 0 || c.Limits.OutputBytes < 0 || c.Limits.ListItems < 0:
		return badConfig("a limit is negative")
	case c.MaxConcurrent < 0:
		return badConfig("MaxConcurrent is negative")
	}
	for _, dir := range filepath.SplitList(c.Path) {
		if !filepath.IsAbs(dir) { // which would be another directory for every page
			return badConfig(fmt.Sprintf("Path must list absolute directories, not %q", dir))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if err := checkVariable(name, c.Env[name]); err != nil {
			return badConfig("Env: " + err.Error())
		}
	}
	return nil
}

// limits are those of the door.
func (c Config) limits() durward.Limits {
	return durward.Limits{Wall: c.Limits.Timeout, Grace: killGrace, Output: c.Limits.OutputBytes}
}

// policy gives the operator's policy, within the site's own limits.
func (c Config) policy(root string) (*policy.Policy, error) {
	host := machine.Host(root)
	host.Home, host.Environ, host.Own, host.Hidden = c.Home, c.Environ, c.Own, c.Hidden
	compiled, err := c.compile(host)
	if err != nil {
		return nil, err
	}
	return compiled.Keep(durward.KeepRefuse), nil
}

func (c Config) compile(host policy.Host) (*policy.Policy, error) {
	doc := c.Sandbox.document
	if doc == nil {
		return policy.Default(host, policy.Flags{Limits: c.limits(), Level: c.SandboxLevel, AllowNet: c.AllowNet})
	}
	within := *doc
	within.Limits = lesser(doc.Limits, c.limits())
	if c.SandboxLevel != durward.LevelAuto {
		within.Level = c.SandboxLevel
	}
	return policy.Compile(&within, host)
}

// lesser puts the site's limits in where a policy has none or a wider one.
func lesser(written, own durward.Limits) durward.Limits {
	written.Wall = within(written.Wall, own.Wall)
	written.Grace = within(written.Grace, own.Grace)
	written.Output = within(written.Output, own.Output)
	return written
}

func within[T int64 | time.Duration](written, own T) T {
	if written <= 0 || written > own {
		return own
	}
	return written
}
