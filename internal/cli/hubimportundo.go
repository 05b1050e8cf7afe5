package cli

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/hubedit"
	"github.com/durward/durward/internal/safetext"
)

// itself says why a server is durward itself, which would start or ask itself without end; "" where it is not.
func (m *importing) itself(file string, s clientconfig.Server) string {
	file = physical(file)
	if slices.ContainsFunc(m.connected, func(d deed) bool { return d.File == file && d.Name == s.Name }) {
		return "durward connect wrote it"
	}
	program := s.Command
	for _, word := range s.Args { // npx, env and others start what their arguments name
		if programName(program) == mainName && word == "hub" {
			return "it is a hub of durward"
		}
		program = word
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Port() != strconv.Itoa(m.settings.port) {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip.IsLoopback() || u.Hostname() == m.settings.host {
		return "it is where the hub itself answers"
	}
	return ""
}

// write has the new text take the place of the former one, and keeps how to undo it.
func (m *importing) write() (data changeData, err error) {
	if m.dryRun || len(m.done) == 0 {
		return m.made()
	}
	file := physical(m.place().File)
	known, err := m.deedOf("import", file, m.source)
	if err != nil {
		return data, err
	}
	d := deed{Kind: "import", File: file, Name: m.source, Wrote: digestOf(m.text.Bytes()), Servers: m.servers}
	former := m.was
	if m.first {
		former, d.Dirs = nil, missingDirs(file)
	}
	if known != nil && known.Wrote == digestOf(m.was) { // one import after the other
		if before, kept := m.former(known); kept || known.Was == "" {
			former, d.Dirs, d.Servers = before, known.Dirs, append(known.Servers, m.servers...)
		}
	}
	_, err = m.do(d, former, func() error {
		data, err = m.made()
		return err
	})
	return data, err
}

// undo has the configuration be as it was before the import, or takes out what was added where it was changed since.
func (m *importing) undo() error {
	known, err := m.deedOf("import", physical(m.place().File), m.source)
	if err != nil {
		return err
	}
	if known == nil {
		return &durward.Error{
			Reason: durward.ServerUnknown, Op: "undo", Hint: "see which servers there are: durward server list" + m.configArgument(),
			Err: fmt.Errorf("there is nothing to undo: durward imported nothing from %s into %s", m.source, m.file),
		}
	}
	former, kept := m.former(known)
	if now := digestOf(m.was); now != known.Wrote || !kept && known.Was != "" {
		return m.takeOut(known)
	}
	m.done, m.lines = []string{"removed " + plural(len(known.Servers), "server")}, changedLines(m.was, former)
	data := changeData{File: m.file, DryRun: m.dryRun, Changed: true, Lines: m.lines}
	if !m.dryRun {
		if err := m.putBack(known, former); err != nil {
			return err
		}
	}
	if m.json {
		return m.print(data)
	}
	if m.dryRun {
		return m.tellChange(data)
	}
	_, err = fmt.Fprintf(m.stdout, "%s; %s is as it was\n", m.done[0], safetext.Line(m.file))
	return err
}

// putBack puts the former text back, or takes the file away where there was none.
func (m *importing) putBack(known *deed, former []byte) error {
	k, err := m.trustBefore()
	if err != nil {
		return err
	}
	if known.Was == "" {
		if err = known.removeMade(m.was); err == nil {
			_, err = k.store.Remove(known.File) // for what may be made there next
			err = untrustable(err)
		}
	} else if err = unreplaced(replace.Swap(known.File, m.was, former)); err == nil {
		err = k.follow(known.File, former)
	}
	if err != nil {
		return err
	}
	return m.forget(known)
}

// takeOut takes out the servers that are still there, one by one.
func (m *importing) takeOut(known *deed) error {
	for _, name := range known.Servers {
		there := func(s hubconfig.Server) bool { return s.Name == hubconfig.Fold(name) }
		if !slices.ContainsFunc(m.config.Servers, there) {
			continue
		}
		if err := m.edit("removed the server "+name, func() error { return hubedit.Remove(m.text, hubconfig.Fold(name)) }); err != nil {
			return m.refused(err)
		}
	}
	if err := m.finishServers(); err != nil || m.dryRun {
		return err
	}
	return m.forget(known)
}
