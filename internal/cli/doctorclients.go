package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/smallfile"
)

// checkClients looks at what the programs of this user were told of durward. Nothing is
// started or changed.
func (p *program) checkClients() checkData {
	var parts []checkData
	connected := 0
	machine := clientconfig.Machine{OS: runtime.GOOS, Home: p.home(), Environ: p.env}
	for _, client := range clientconfig.Clients() {
		for _, file := range client.Places(machine) {
			text, err := smallfile.Read(file, mostImported, nil)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			part, knows := p.checkClient(client, file, text, err)
			if parts = append(parts, part); knows {
				connected++
			}
		}
	}
	if len(parts) == 0 {
		return check("clients", "none was found that is set up for this user", nil)
	}
	return together("clients", fmt.Sprintf("%d of %d that are set up for this user know durward", connected, len(parts)), parts)
}

// checkClient says what one file of a client knows.
func (p *program) checkClient(client clientconfig.Client, file string, text []byte, err error) (c checkData, knows bool) {
	name := string(client)
	if err != nil {
		return warned(name, "cannot be read: "+err.Error(), "let this user read it"), false
	}
	project, _ := p.dir() // unknown is none
	found, err := clientconfig.Read(file, text, clientconfig.Options{Client: client, Project: project})
	if err != nil {
		return warned(name, details(err)[0], "mend what is named in it"), false
	}
	for _, s := range found.Servers {
		if !isDurward(s.Command) {
			continue
		}
		if why := p.brokenEntry(s); why != "" {
			return warned(name, "knows durward as "+s.Name+", and "+why, "correct the entry in "+file), true
		}
		return check(name, safetext.Line("knows durward as "+s.Name+": "+file), nil), true
	}
	return check(name, safetext.Line("does not know durward: "+file), nil), false
}

// isDurward reports whether a command is this program, under any of its names.
func isDurward(command string) bool {
	command = programName(command)
	return command == mainName || slices.ContainsFunc(linkNames, func(l linkName) bool { return l.name == command })
}

// brokenEntry says what keeps a client from starting durward, or "".
func (p *program) brokenEntry(s clientconfig.Server) string {
	path := ""
	for _, v := range s.Env {
		if v.Name == "PATH" {
			path = v.Value
		}
	}
	if _, err := p.findProgram(s.Command, path); err != nil {
		return err.Error()
	}
	at := slices.Index(s.Args, "--config")
	if at < 0 || at+1 == len(s.Args) || !filepath.IsAbs(s.Args[at+1]) {
		return ""
	}
	if missing, err := nothingAt(s.Args[at+1]); missing || err != nil {
		return "there is no " + s.Args[at+1] + ", which it names"
	}
	return ""
}
