package cli

import (
	"os"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/trust"
)

// The files of a project that durward looks for in the working directory. Without trust they have
// no effect.
const (
	projectConfig  = "durward.yaml"
	projectServers = "config/mcp_servers.json"
)

// trustStore is where it is kept which files are trusted.
func (p *program) trustStore() (trust.Store, error) {
	dir, err := p.stateDir()
	if err != nil {
		return trust.Store{}, err
	}
	return trust.Store{Dir: filepath.Join(dir, "trust")}, untrustable(audit.Private(dir))
}

// untrustable says of the list of trusted files that it is of no use, if it is.
func untrustable(err error) error {
	if err == nil {
		return nil
	}
	hint := "see to it that the folder can be written by you and nobody else; a list that is damaged can be removed, and its files trusted again"
	if known := durward.AsError(err); known != nil && known.Hint != "" {
		hint = known.Hint
	}
	return &durward.Error{Reason: durward.TrustUnavailable, Op: "trust", Hint: hint, Err: err}
}

// notTrusted refuses a file; fix is what can be done.
func notTrusted(file string, state trust.State, fix string) error {
	return &durward.Error{Reason: durward.NotTrusted, Op: "trust", Hint: fix, Err: &whyUntrusted{file, state}}
}

// A whyUntrusted says why a file is not obeyed.
type whyUntrusted struct {
	file  string
	state trust.State
}

func (w *whyUntrusted) Error() string {
	if w.state == trust.Changed {
		return w.file + " has changed since it was trusted"
	}
	return w.file + " is of this folder, and nobody has trusted it"
}

// readProject reads the configuration of the working directory if it is trusted as it is. One that
// is not is as good as missing; untrusted says why.
func (p *program) readProject(path string) (text []byte, untrusted *whyUntrusted, err error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, nil, nil
	}
	store, err := p.trustStore()
	if err != nil {
		return nil, nil, err
	}
	f, state, err := store.Read(path)
	switch {
	case err != nil:
		return nil, nil, untrustable(err)
	case state != trust.Trusted:
		return nil, &whyUntrusted{projectConfig, state}, nil
	}
	return f.Text, nil, nil
}

// noteProject says once that the configuration of the working directory has no effect, if that is so.
func (p *program) noteProject() {
	if why := p.configured.untrusted; why != nil && !p.configured.noted {
		p.configured.noted = true
		p.note("%s, so it has no effect; read it, and then: durward trust add %s", safetext.Line(why.Error()), projectConfig)
	}
}
