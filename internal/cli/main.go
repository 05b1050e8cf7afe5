// Package cli is the command line: it turns words and variables into calls, and what
// came of them into text, JSON and an exit status.
//
//	durward VERB [FLAG…] [ARGUMENT…]
//	durward NOUN VERB [FLAG…] [ARGUMENT…]
//
// Standard output carries the result only, all else goes to standard error. With
// --json the result, or the error in its place, is one object:
//
//	{"schema":"durward/exec/v1","ok":true,"data":{…}}
//	{"schema":"durward/exec/v1","ok":false,"error":{"code":"DWD-POLICY-002",…}}
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
)

// A program is one start of durward with all that it was given.
type program struct {
	version string
	stdin   io.Reader
	stdout  *outlet
	stderr  *outlet
	env     map[string]string
	// dir gives the working directory by its physical path: $PWD may lead through links.
	dir func() (string, error)

	json, quiet, verbose, noInput bool
	// configFile is the configuration that somebody named; systemConfig is the folder
	// of the machine's own.
	configFile, systemConfig string
	// within bounds the wait for a configuration that comes out of a pipe; zero is five
	// seconds.
	within time.Duration
	// configured is what was read; nil before.
	configured *configuration
	// talks is set where standard output is for a protocol, and for nothing else.
	talks bool
	// idle is set once commands could have run and none does any more.
	idle bool
	// misnamed is set where the help of a command was asked for that there is not.
	misnamed error
	// told is set once an error was told.
	told bool
	// called is the name that the program was called by.
	called string
	// command is the command that runs, "audit tail"; it names the schema of its JSON.
	command string
}

// Main runs one command line and gives the exit status. version is what `durward
// version` says. The first of args is the name the program was called by.
func Main(ctx context.Context, version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{version: version, stdin: stdin, env: environ(os.Environ()), dir: syscall.Getwd, systemConfig: systemConfigDir()}
	p.stdout, p.stderr = outlets(stdout, stderr)
	status := p.main(ctx, args)
	if p.idle {
		p.release()
	}
	p.stderr.finish()
	return status
}

// release frees what was found on this machine, which a process does once.
func (p *program) release() {
	if err := sandbox.Probed().Release(); err != nil {
		p.note("warning: something was left behind: %s", safetext.Line(err.Error()))
	}
}

func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

func (p *program) main(ctx context.Context, args []string) int {
	p.json = asksForJSON(args) // known before the flags are, for errors in them
	p.called = calledBy(args)
	words, err := personality(args)
	if err != nil {
		return p.fail(err)
	}
	root := p.root(words)
	root.SetArgs(words)
	cmd, err := root.ExecuteContextC(ctx)
	if cmd != nil && p.command == "" {
		p.command = commandName(cmd)
	}
	return p.fail(errors.Join(err, p.misnamed))
}

// asksForJSON reports whether --json stands before the words of another program.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// An exitStatus ends the program without another word.
type exitStatus int

func (e exitStatus) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// fail gives the exit status of err, and tells of it unless that was done.
func (p *program) fail(err error) int {
	var status exitStatus
	lost := p.stdout.failure()
	switch {
	case lost != nil && !p.told:
		return p.failOutput(lost)
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	p.tell(err, "")
	if p.takesCall() {
		return execStatus(err)
	}
	if p.installs() {
		return installStatus(err)
	}
	return statusOf(err)
}

// failOutput is fail for output that got lost. A reader that went away wants no more.
func (p *program) failOutput(lost error) int {
	if !isPipeError(lost) {
		p.explain(failureOf(undelivered(lost, "make room, or send the output elsewhere"), ""), "")
	}
	return undeliveredStatus(lost)
}

// note prints a line for a person, unless they want none.
func (p *program) note(format string, args ...any) {
	if !p.quiet {
		fmt.Fprintf(p.stderr, "durward: "+format+"\n", args...)
	}
}
