package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/machine"
	"github.com/durward/durward/internal/mcppolicy"
)

// loadMCPPolicy reads a policy.yaml for this machine.
func (p *program) loadMCPPolicy(file string, strict bool) (*mcppolicy.Policy, error) {
	text, mode, err := readMCPPolicy(file)
	if err != nil {
		return nil, err
	}
	return p.compileMCP(file, text, mode, strict)
}

func readMCPPolicy(file string) (text []byte, mode fs.FileMode, err error) {
	text, err = readJudged(file, config.MaxBytes+1, 5*time.Second, func(info fs.FileInfo) error {
		mode = info.Mode()
		return nil
	})
	if err != nil {
		hint := "name a file that can be read"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "name one that exists, or make a first one: " + beginning(file)
		}
		err = &durward.Error{Reason: durward.PolicyInvalid, Op: "read the policy", Hint: hint, Err: fmt.Errorf("%s: %w", file, cause(err))}
	}
	return text, mode, err
}

// compileMCP makes a policy of the text of a file, or of what is to become that.
func (p *program) compileMCP(file string, text []byte, mode fs.FileMode, strict bool) (*mcppolicy.Policy, error) {
	host := p.mcpHost(mode)
	host.Named = p.startingHere(file)
	host.File = physical(host.Named)
	return compileMCPText(file, text, host, strict)
}

// startingHere gives the absolute path of a file by the names as they stand: "dir/.." is where the
// kernel ends up, too.
func (p *program) startingHere(file string) string {
	if dir, err := p.dir(); err == nil && !filepath.IsAbs(file) {
		return dir + string(filepath.Separator) + file
	}
	return file
}

func (p *program) mcpHost(mode fs.FileMode) mcppolicy.Host {
	host := machine.MCPHost(mode)
	host.Own = p.ownPaths()
	return host
}

func compileMCPText(name string, text []byte, host mcppolicy.Host, strict bool) (*mcppolicy.Policy, error) {
	doc, err := mcppolicy.Parse(name, text)
	if doc == nil {
		return nil, err
	}
	return mcppolicy.Compile(doc, host, mcppolicy.Options{Strict: strict})
}

// openPolicyLog opens the log that a policy names, or the one of every other command.
func (p *program) openPolicyLog(policy *mcppolicy.Policy, logger *slog.Logger) (*audit.Log, error) {
	if policy.LogFile == "" {
		return p.openLog(logger, leaveOf(policy))
	}
	logging := policy.Document.Logging
	o := audit.Options{
		File: policy.LogFile, MaxBytes: logging.MaxBytes.Value, Keep: int(logging.Keep.Value), Logger: logger, Leave: leaveOf(policy),
	}
	log, err := audit.Open("", o)
	return log, withHint(err, fmt.Sprintf("see to it that this user can write the file, or name another one under logging.file (%s)", logging.File.Where))
}

// logInReach refuses a log that the calls which are on record could write.
func logInReach(policy *mcppolicy.Policy, log string) error {
	file, err := filepath.Abs(log)
	if err != nil {
		return err
	}
	zone, at, ok := policy.ZoneAround(physical(file))
	if !ok {
		return nil
	}
	return &durward.Error{
		Reason: durward.PolicyInvalid, Op: "open the log", Rule: "writeRules", Where: at,
		Hint: "name another folder for it with " + varStateDir + " or logging.file, or take it out of what may be written",
		Err:  fmt.Errorf("the audit log %s lies in %s, where files may be written", log, zone),
	}
}

// leaveOf gives what the policy wants to be in no record. The values of variables and
// standard input are in none anyway.
func leaveOf(policy *mcppolicy.Policy) audit.Leave {
	redacts := func(member string) bool {
		return slices.ContainsFunc(policy.Document.Logging.Redact.Value, func(t mcppolicy.Text) bool { return t.Value == member })
	}
	return audit.Leave{Args: redacts("args"), Path: redacts("path"), Cwd: redacts("cwd")}
}

// mcpLogger tells on standard error what the command line or else the policy wants to know.
func (x *mcpServing) mcpLogger(policy *mcppolicy.Policy) (*slog.Logger, error) {
	level := x.level
	if level == "" {
		level = policy.Document.Logging.Level.Value
	}
	levels := []string{"trace", "debug", "info", "warn", "error"}
	if !slices.Contains(levels, level) {
		return nil, usageError("use trace, debug, info, warn or error", "--log-level: there is no level %q", level)
	}
	if level == "trace" {
		level = "debug"
	}
	o := &slog.HandlerOptions{Level: logLevels[level]}
	if leave := leaveOf(policy); leave.Path || leave.Cwd {
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == "error" { // it names paths
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.New(slog.NewTextHandler(x.stderr, o)), nil
}
