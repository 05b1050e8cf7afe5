package cli

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
)

// The variables that durward reads.
const (
	varConfig   = "DURWARD_CONFIG"
	varStateDir = "DURWARD_STATE_DIR"
	varPolicy   = "DURWARD_POLICY"
	varTimeout  = "DURWARD_TIMEOUT"

	varListen    = "DURWARD_LISTEN"
	varTokenFile = "DURWARD_TOKEN_FILE"
	varLogLevel  = "DURWARD_LOG_LEVEL"
	varLogFormat = "DURWARD_LOG_FORMAT"
	varNoInput   = "DURWARD_NO_INPUT"
)

// ownVariables lists all names that mean something in some build.
var ownVariables = []string{
	varConfig, "DURWARD_CONTEXT", varListen, varLogFormat, varLogLevel, varNoInput,
	varPolicy, varStateDir, varTimeout, varTokenFile,
}

// warnOfVariables names the variables that look like ours and mean nothing.
func (p *program) warnOfVariables() {
	for _, name := range slices.Sorted(maps.Keys(p.env)) {
		if strings.HasPrefix(name, "DURWARD_") && !slices.Contains(ownVariables, name) {
			p.note("warning: the variable %s is unknown and has no effect", safetext.Line(name))
		}
	}
}

// stateDir is where durward keeps what must outlive it.
func (p *program) stateDir() (string, error) {
	dir, fix := p.env[varStateDir], "set "+varStateDir+" to an absolute path"
	if dir == "" {
		dir = p.userDir(statePlace, mainName)
	}
	if !filepath.IsAbs(dir) {
		return "", &durward.Error{
			Kind: durward.Unavailable, Reason: durward.AuditUnavailable, Op: "state", Hint: fix,
			Err: errors.New("no folder for the audit log is known: there is no absolute path in HOME or " + varStateDir),
		}
	}
	return filepath.Clean(dir), nil
}

func (p *program) auditDir() (string, error) {
	dir, err := p.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "audit"), nil
}
