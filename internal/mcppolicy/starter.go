package mcppolicy

import (
	"strings"

	"github.com/durward/durward/internal/jsonx"
)

// Starter gives the text of a first policy, with comments: files may be read in dirs, or
// in ~/code without any, and nothing may be written or run. It loads wherever these
// directories exist.
func Starter(dirs ...string) string {
	if len(dirs) == 0 {
		dirs = []string{"~/code"}
	}
	roots := ""
	for _, dir := range dirs {
		roots += "  - " + string(jsonx.AppendString(nil, dir)) + "\n"
	}
	return strings.Replace(starter, "  - ROOTS\n", roots, 1)
}

const starter = `# What an MCP client may do on this machine. All that is not named here is refused.
version: 1

# Files on network file systems stay closed.
denyNetworkFS: true

# Files may be read in these directories: absolute, or beginning with ~/.
allowedRoots:
  - ROOTS

# Files may be written where a rule says so, within an allowed root. For example:
#   - path: "~/code/scratch"
#     recursive: true            # also in the directories below
#     maxFileBytes: 10_000_000
#     createIfMissing: true
writeRules: []

# Commands are run without a shell and see nothing but the roots. For example:
#   - id: "git"
#     exec: "git"                # an absolute path, or a name that is looked up once
#     args:
#       allow: ["status", "log", "diff"]
#     timeoutMs: 20_000
commands: []

logging:
  level: "info"
  redact: ["env"]

limits:
  maxReadBytes: 5_000_000
  maxCmdConcurrency: 2
`
