package cli

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/policy"
)

// host is what policy has to know of this machine; root is its workspace.
func (p *program) host(root string, own ...string) policy.Host {
	host := machine.Host(root)
	host.Home, host.Environ, host.Own = p.home(), p.env, p.ownPaths(own...)
	return host
}

// ownPaths adds to some paths those that say how durward is run and what it did.
func (p *program) ownPaths(own ...string) []string {
	// A state folder that cannot be is refused where it is opened.
	if state, err := p.stateDir(); err == nil && !odd(state) {
		own = append(own, state)
	}
	for _, layer := range p.configLayers() {
		if path := absolute(layer.path, p.dir); !odd(path) {
			own = append(own, path)
		}
	}
	for _, policy := range []string{join(p.userConfigDir(), policyFileName), p.otherPolicy()} {
		if policy != "" && !odd(policy) { // the next start may read it, whether it is there by now or not
			own = append(own, policy)
		}
	}
	return own
}

// blameHome names a HOME that no path below can be judged by, instead of each such path.
func (p *program) blameHome(err error) error {
	home := p.home()
	if err == nil || home == "" {
		return err
	}
	const fix = "set HOME to a folder that you can enter, or unset it"
	if !filepath.IsAbs(home) {
		return usageError(fix, "HOME is %q, which is no absolute path", home)
	}
	if _, cannot := os.Stat(home + string(filepath.Separator) + "."); cannot != nil && !errors.Is(cannot, os.ErrNotExist) {
		return usageError(fix, "HOME is %q, which cannot be entered: %w", home, cause(cannot))
	}
	return err
}

// odd reports whether a path neither exists nor is merely missing.
func odd(path string) bool {
	_, err := os.Stat(path)
	return err != nil && !errors.Is(err, os.ErrNotExist)
}
