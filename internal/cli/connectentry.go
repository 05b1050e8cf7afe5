package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/credential"
	"github.com/durward/durward/internal/safetext"
)

// entry is what the client is to be told of. It would work: nobody is sent to what would not start.
func (x *connecting) entry() (clientconfig.Entry, error) {
	if x.given("url") {
		return x.hubAtURL()
	}
	program, err := x.lastingProgram()
	if err != nil {
		return clientconfig.Entry{}, err
	}
	args, err := x.strictServer()
	if x.hub {
		args, err = x.ownHub()
	}
	return clientconfig.Entry{Command: program, Args: args}, err
}

// strictServer serves what a policy allows that can be loaded.
func (x *connecting) strictServer() ([]string, error) {
	if x.hub {
		return nil, nil
	}
	file, err := x.policyPath(x.policy)
	if err != nil {
		return nil, err
	}
	file = absolute(file, x.dir)
	policy, err := x.loadMCPPolicy(file, false)
	if err != nil {
		return nil, err
	}
	x.noteWarnings(policy)
	return []string{"mcp", "--config", file}, nil
}

// ownHub starts the servers of a configuration that can be loaded.
func (x *connecting) ownHub() ([]string, error) {
	e, err := x.estate(false)
	if err != nil {
		return nil, err
	}
	file, sandbox := e.place().File, e.place().Sandbox
	if _, err := os.Stat(file); err != nil {
		return nil, &durward.Error{
			Reason: durward.ConfigInvalid, Op: "connect", Err: fmt.Errorf("%s: %w", file, cause(err)),
			Hint: "name the servers of a hub with --config FILE, or make a first file with durward server add or durward import",
		}
	}
	if info, err := os.Stat(sandbox); err != nil || !info.IsDir() {
		return nil, usageError("name one that is there with --sandbox-dir DIR: files beyond it are out of reach of the servers' arguments", "there is no folder %s", sandbox)
	}
	// The client names the file, which is more than it takes to have come with this folder.
	if err := x.mayStart(e.settings, e.read); err != nil {
		return nil, err
	}
	for _, w := range e.config.Warnings {
		x.note("warning: %s", safetext.Line(w))
	}
	return []string{"hub", "--stdio", "--config", file, "--sandbox-dir", sandbox}, nil
}

// hubAtURL is a hub that runs, or will.
func (x *connecting) hubAtURL() (clientconfig.Entry, error) {
	u, err := url.Parse(x.url)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return clientconfig.Entry{}, usageError("give it in full: --url http://127.0.0.1:8002", "--url: %q is no URL of HTTP", x.url)
	case credential.InURL(x.url):
		return clientconfig.Entry{}, usageError("have the client send it: --token-env NAME", "the URL holds what looks like a secret, which does not stand in a file")
	case strings.Trim(u.Path, "/") == "":
		u.Path = "/mcp"
	}
	return clientconfig.Entry{URL: u.String(), TokenVariable: x.tokenVariable}, nil
}

// lastingProgram gives the path of this program that stays: the name on PATH, which a newer one takes over, rather
// than where that leads to.
func (p *program) lastingProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	self, err := os.Stat(path)
	if err != nil {
		return "", passing(path, "is gone")
	}
	for _, dir := range filepath.SplitList(p.env["PATH"]) {
		name := filepath.Join(dir, programFile())
		if info, err := os.Stat(name); filepath.IsAbs(name) && err == nil && os.SameFile(info, self) && !passes(name) {
			return name, nil
		}
	}
	if passes(path) {
		return "", passing(path, "will not stay")
	}
	return path, nil
}

// passes reports whether a path is one of those that programs make for a while, such as `go run`.
func passes(path string) bool {
	for _, name := range strings.Split(filepath.ToSlash(path), "/") {
		if strings.HasPrefix(name, "go-build") {
			return true
		}
	}
	return within(physical(os.TempDir()), physical(path))
}

func passing(path, why string) error {
	return usageError("put durward where it stays, such as ~/.local/bin, and connect from there", "this program is at %s, which %s", path, why)
}

// clientFile gives the file that is meant: the one that was named, or the first that is there, or the first that
// could be. Its path is physical where it leads anywhere.
func (x *connecting) clientFile() (file string, missing bool, err error) {
	files := []string{x.at}
	if x.at == "" {
		files = x.client.Places(clientconfig.Machine{OS: runtime.GOOS, Home: x.home(), Environ: x.env})
	}
	if len(files) == 0 || x.given("file") && x.at == "" {
		return "", false, usageError("name it: --file FILE", "nobody knows where %s keeps its servers", x.client.Title())
	}
	for i := range files {
		files[i] = absolute(files[i], x.dir)
		real, err := filepath.EvalSymlinks(files[i])
		if err == nil {
			return real, false, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", false, x.unreadable(files[i], err)
		}
	}
	if _, err := nothingAt(files[0]); err != nil {
		return "", false, x.unreadable(files[0], err)
	}
	return filepath.Join(physical(filepath.Dir(files[0])), filepath.Base(files[0])), true, nil
}

func (x *connecting) unreadable(file string, err error) error {
	reason := durward.FileIO
	if errors.Is(err, fs.ErrPermission) {
		reason = durward.FilePermission
	}
	return &durward.Error{Reason: reason, Op: "connect", Hint: "nothing was changed; name a file that can be read: --file FILE", Err: fmt.Errorf("%s: %w", file, cause(err))}
}
