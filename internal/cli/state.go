package cli

import (
	"errors"
	"fmt"
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

// varGatewayToken is one of those of the hub, which has names of its own.
const varGatewayToken = "GATEWAY_TOKEN_FILE"

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
	dir := p.env[varStateDir]
	if dir == "" {
		dir = p.userDir(statePlace, mainName)
	}
	if !filepath.IsAbs(dir) {
		return "", &durward.Error{
			Kind: durward.Unavailable, Reason: durward.AuditUnavailable, Op: "state", Hint: "set " + varStateDir + " to an absolute path",
			Err: errors.New("no folder for the audit log is known: " + p.stateless()),
		}
	}
	return filepath.Clean(dir), nil
}

// stateless says why there is no place for the state.
func (p *program) stateless() string {
	const relative = "%s is %q, which is no absolute path"
	switch home := p.home(); {
	case p.env[varStateDir] != "":
		return fmt.Sprintf(relative, varStateDir, p.env[varStateDir])
	case home != "":
		return fmt.Sprintf(relative, "HOME", home)
	}
	return "neither " + varStateDir + " nor HOME is set"
}

func (p *program) auditDir() (string, error) {
	dir, err := p.stateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "audit"), nil
}
