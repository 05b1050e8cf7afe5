package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/durward/durward"
)

// hubSettings are how a hub runs, as its variables and flags say it.
type hubSettings struct {
	host, file, sandbox string
	// chosen is set where somebody named the file.
	chosen              bool
	port                int
	portGiven           bool
	level               slog.Level
	timeout, maxTimeout time.Duration
	concurrent          int
	outputBytes         int64
}

// settingsOf reads the variables, over which flags win.
func (x *hubServing) settingsOf() (s hubSettings, err error) {
	s = hubSettings{
		host: cmp.Or(x.env["HOST"], "127.0.0.1"), file: cmp.Or(x.env["MCP_CONFIG_PATH"], projectServers),
		chosen: x.env["MCP_CONFIG_PATH"] != "" || x.given("config"), sandbox: cmp.Or(x.env["SANDBOX_DIRECTORY"], "/workspace"),
	}
	for _, v := range []struct {
		name, fallback string
		read           func(text string) bool
	}{
		{"PORT", "8002", func(text string) bool { return integer(text, 0, 65535, &s.port) }},
		{"LOG_LEVEL", "INFO", func(text string) bool { return hubLevel(text, &s.level) }},
		{"DEFAULT_TIMEOUT", "30", func(text string) bool { return seconds(text, &s.timeout) }},
		{"MAX_TIMEOUT", "600", func(text string) bool { return seconds(text, &s.maxTimeout) }},
		{"MAX_CONCURRENT_EXECUTIONS", "10", func(text string) bool { return integer(text, 1, 1<<20, &s.concurrent) }},
		{"MAX_OUTPUT_BYTES", "10000000", func(text string) bool { return integer(text, 1, 1<<40, &s.outputBytes) }},
	} {
		if text := cmp.Or(x.env[v.name], v.fallback); !v.read(text) {
			return s, usageError(hubFixes[v.name], "%s: %q is not what it takes", v.name, text)
		}
	}
	if x.given("host") {
		s.host = x.host
	}
	s.portGiven = x.env["PORT"] != ""
	if x.given("port") {
		s.port, s.portGiven = x.port, true
	}
	if x.given("config") {
		s.file = x.file
	}
	if x.given("sandbox-dir") {
		s.sandbox = x.sandbox
	}
	return s, nil
}

// hubFixes say what each variable takes.
var hubFixes = map[string]string{
	"PORT": "give a port from 0 to 65535", "LOG_LEVEL": "use DEBUG, INFO, WARNING or ERROR", "DEFAULT_TIMEOUT": "give a number of seconds above 0",
	"MAX_TIMEOUT": "give a number of seconds above 0", "MAX_CONCURRENT_EXECUTIONS": "give a whole number from 1", "MAX_OUTPUT_BYTES": "give a number of bytes from 1",
}

func integer[T int | int64](text string, low, high int64, into *T) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	*into = T(n)
	return err == nil && low <= n && n <= high
}

func seconds(text string, into *time.Duration) bool {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || n > math.MaxInt32 {
		return false
	}
	*into = max(time.Duration(n*float64(time.Second)), 1)
	return true
}

func hubLevel(text string, into *slog.Level) (ok bool) {
	*into, ok = gatewayLevels[strings.ToUpper(text)]
	return ok
}

// openSandbox gives the sandbox directory by its physical path. It is made where it is
// missing.
func (s hubSettings) openSandbox(dir func() (string, error)) (string, error) {
	path := absolute(s.sandbox, dir)
	err := os.MkdirAll(path, 0o700)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		var about os.FileInfo
		if about, err = os.Stat(path); err == nil && !about.IsDir() {
			err = errors.New("it is no directory")
		}
	}
	if err == nil && path == "/" {
		err = errors.New("it is the whole file system, which would hold arguments to nothing")
	}
	if err != nil {
		return "", &durward.Error{
			Reason: durward.ConfigInvalid, Op: "hub", Hint: "name another directory, one that is there or can be made, by SANDBOX_DIRECTORY or --sandbox-dir",
			Err: fmt.Errorf("the sandbox directory %s: %w", path, cause(err)),
		}
	}
	return path, nil
}
