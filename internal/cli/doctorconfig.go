package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
)

// checkConfig reads the configuration as exec does, and says of each file whether it was there.
func (p *program) checkConfig() checkData {
	_, read, err := p.settings()
	gives := "built-in; there is no file"
	if len(read) > 0 {
		gives = safetext.Line(strings.Join(read, ", "))
	}
	var files []checkData
	for _, layer := range p.configLayers() {
		file, ok := p.checkLayer(layer, slices.Contains(read, layer.path))
		if !ok {
			break // the mistake says what is wrong with it
		}
		files = append(files, file)
	}
	if err == nil {
		return together("config", gives, files)
	}
	c := firstMistake(check("config", gives, err))
	c.Parts = files
	return c
}

// checkLayer says of a file of the configuration whether it counts. Of one that is there and could
// not be read it says nothing.
func (p *program) checkLayer(layer configLayer, read bool) (_ checkData, ok bool) {
	if why := p.configured.untrusted; layer.project && why != nil {
		return warned("file", layer.path+" was not read: "+why.Error(), "read it, and then durward trust add "+layer.path), true
	}
	if read {
		return check("file", safetext.Line(layer.path)+" was read", nil), true
	}
	missing, err := nothingAt(layer.path)
	return check("file", safetext.Line(layer.path)+" is not there", nil), missing && err == nil
}

// checkHub reads the configuration of a hub and looks for the programs of its servers. It
// starts none of them.
func (p *program) checkHub() checkData {
	const name = "hub"
	x := &hubServing{program: p, given: func(string) bool { return false }}
	e, err := x.estate(false)
	switch {
	case durward.ReasonOf(err) == durward.BadUsage: // a variable that others use, too
		f := failureOf(err, "")
		return warned(name, f.Why, f.Fix)
	case err != nil:
		return firstMistake(check(name, "", err))
	case e.config.Missing && p.env["MCP_CONFIG_PATH"] != "":
		return warned(name, "there is no "+e.config.File+", which MCP_CONFIG_PATH names", "name a file that is there, or make it with durward server add")
	case e.config.Missing:
		return check(name, "no servers are configured: there is no "+safetext.Line(e.settings.file), nil)
	}
	parts := make([]checkData, 0, len(e.config.Servers)+1)
	if err := x.mayStart(e.settings, e.read); err != nil {
		f := failureOf(err, "")
		parts = append(parts, warned("trust", "none of them is started: "+f.Why, f.Fix))
	}
	for _, s := range e.config.Servers {
		parts = append(parts, p.checkServerOf(s))
	}
	for _, w := range e.config.Warnings {
		if !slices.ContainsFunc(e.config.Servers, func(s hubconfig.Server) bool { return s.Broken != "" && strings.Contains(w, s.Broken) }) {
			parts = append(parts, warned("file", w, "mend it there"))
		}
	}
	return together(name, e.config.File+": "+plural(len(e.config.Servers), "server"), parts)
}

// checkServerOf says whether a server of a hub could be started.
func (p *program) checkServerOf(s hubconfig.Server) checkData {
	switch {
	case s.Disabled:
		return check(s.Name, "disabled", nil)
	case s.Broken != "":
		return warned(s.Name, "it is not started: "+s.Broken, "mend it at "+s.Where.String()+", or durward server remove "+shellPath(s.Name))
	case s.Remote != nil:
		return check(s.Name, "is asked at "+safetext.Line(plainURL(s.Remote.URL)), nil)
	}
	path, err := p.findProgram(s.Command, s.Env["PATH"])
	if err != nil {
		return warned(s.Name, err.Error(), "install "+s.Command+", or name another program at "+s.Where.String())
	}
	return check(s.Name, "would run "+safetext.Line(path), nil)
}

// findProgram looks for a program as a server's is looked for: a name along a path, or
// along that of durward itself.
func (p *program) findProgram(name, path string) (string, error) {
	if path == "" {
		path = p.env["PATH"]
	}
	dir, err := p.dir()
	if err != nil {
		return "", err
	}
	found, err := sandbox.FindProgram(name, path, dir)
	if err != nil {
		why := "cannot be executed"
		if durward.ReasonOf(err) == durward.ProgramNotFound {
			why = "is not there"
		}
		return "", fmt.Errorf("its program %s %s", name, why)
	}
	return found.Path, found.Close()
}

// openToOthers warns of a file that only its user should open.
func openToOthers(name, file string) (checkData, bool) {
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return checkData{}, false
	}
	return warned(name, fmt.Sprintf("others may open %s (mode %04o)", file, info.Mode().Perm()), "chmod 600 "+shellPath(file)), true
}

// checkLogFile finds out whether the log that a policy names can be written, and by nobody else.
func checkLogFile(file string) checkData {
	const name = "logging.file"
	err := writable(filepath.Dir(file))
	if c, open := openToOthers(name, file); err == nil && open {
		return c
	}
	return check(name, safetext.Line(file), err)
}
