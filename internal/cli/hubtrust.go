package cli

import (
	"time"

	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/smallfile"
	"github.com/durward/durward/internal/trust"
)

// shippedServers is the digest of the configuration that comes with durward, config/mcp_servers.json.
// It starts nothing but durward itself, for the files of a directory that somebody has named.
const shippedServers = "ddeb0f811628be180bf2e6dd107befae8f153ee8326e74ad81b112fc62312b21"

// readServers reads the configuration of a hub, once. Paths in one that nobody named are those from
// where it really is, not from where a link to it stands: a link must not give a file that was
// trusted other programs to start.
func (x *hubServing) readServers(s hubSettings) (f trust.File, err error) {
	file := absolute(s.file, x.dir)
	if s.chosen {
		f.Text, err = smallfile.Read(file, config.MaxBytes, nil)
	} else {
		f, err = trust.Read(file)
	}
	if s.chosen || err != nil {
		f.Path = file
	}
	return f, err
}

// mayStart refuses a configuration that has come with the working directory, unless somebody has
// trusted it as it is, or it is the one that comes with durward.
func (x *hubServing) mayStart(s hubSettings, f trust.File) error {
	if s.chosen || f.SHA256() == shippedServers {
		return nil
	}
	store, err := x.trustStore()
	if err != nil {
		return err
	}
	state, err := store.State(f)
	if err != nil {
		return untrustable(err)
	}
	if state == trust.Trusted {
		return nil
	}
	return notTrusted(s.file, state, "read it, and then durward trust add "+s.file+"; or name it: --config "+s.file)
}

// made is that of a text, in which trust goes along: the person who makes the change saw what was
// there before, and says what is new. What nobody trusted before is not trusted by it, and neither is what is foreign.
func (c *serversChange) made() (data changeData, err error) {
	k, err := c.trustBefore()
	if err != nil {
		return data, err
	}
	if data, err = c.textChange.made(); err != nil || !data.Changed || c.dryRun {
		return data, err
	}
	if c.foreign {
		return data, nil
	}
	if err := k.follow(absolute(c.file, c.dir), c.text.Bytes()); err != nil {
		return data, err
	}
	if k.state != trust.Trusted && !k.ours {
		c.noteUntrusted()
	}
	return data, nil
}

// A keptTrust is how a configuration was trusted before it was changed.
type keptTrust struct {
	store trust.Store
	was   trust.File
	state trust.State
	// ours is set where a hub would have gone by the former text without any trust, or there was none.
	ours bool
}

func (c *serversChange) trustBefore() (k keptTrust, err error) {
	file := absolute(c.file, c.dir)
	project := file == absolute(projectServers, c.dir)
	k.ours = project && (c.first || trust.File{Text: c.was}.SHA256() == shippedServers)
	if k.store, err = c.trustStore(); err == nil && !c.first {
		path, _ := smallfile.Physical(file) // what is nowhere is not trusted
		k.was = trust.File{Path: path, Text: c.was}
		k.state, err = k.store.State(k.was)
	}
	if !project {
		return k, nil // whoever uses it names it
	}
	return k, untrustable(err)
}

// follow has the new text trusted as the former one was.
func (k keptTrust) follow(file string, text []byte) error {
	switch {
	case k.state == trust.Trusted:
		return untrustable(k.store.Follow(k.was, text, time.Now()))
	case k.ours:
		path, err := smallfile.Physical(file)
		if err == nil {
			err = k.store.Add(trust.File{Path: path, Text: text}, time.Now())
		}
		return untrustable(err)
	}
	return nil
}

// noteUntrusted says of a configuration that was looked at or changed that no hub goes by it, and
// gives its state; empty for one that needs no trust.
func (e *hubEstate) noteUntrusted() trust.State {
	if e.settings.chosen || e.config.Missing {
		return ""
	}
	err := e.mayStart(e.settings, e.read)
	if err == nil {
		return trust.Trusted
	}
	f := failureOf(err, "")
	e.note("warning: no hub starts what is in it: %s; fix: %s", f.Why, f.Fix)
	return trust.Untrusted
}
