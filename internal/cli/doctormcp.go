package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/jsonrpc"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
)

// checkMCP finds out whether a client would be served under a policy.
func (p *program) checkMCP(ctx context.Context, file string) []checkData {
	policy, err := p.loadMCPPolicy(file, false)
	if err != nil {
		return []checkData{firstMistake(check("policy", file, err))}
	}
	checks := []checkData{policyLoaded(policy)}
	for _, root := range policy.Roots {
		checks = append(checks, checkRoot(policy, root))
	}
	if policy.LogFile != "" {
		checks = append(checks, checkLogFile(policy.LogFile))
	}
	return append(checks, checkServer(ctx, file))
}

func policyLoaded(policy *mcppolicy.Policy) checkData {
	file := policy.Document.Where.File
	if len(policy.Warnings) == 0 {
		return check("policy", safetext.Line(file)+" "+policy.Hash, nil)
	}
	text := policy.Warnings[0].Error()
	if more := len(policy.Warnings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return warned("policy", text, "durward policy show --policy "+file)
}

// checkRoot opens a root as calls do.
func checkRoot(policy *mcppolicy.Policy, root mcppolicy.Root) checkData {
	const name = "root"
	dir, err := fsroot.Open(root.Path)
	if err != nil {
		return check(name, "", withHint(err, "name a directory that can be read at "+root.Where.String()))
	}
	defer dir.Close()
	opened, err := dir.OpenDir(".", guardOptions(policy, "").Rules)
	if err != nil {
		return check(name, "", withHint(err, "copy it to a local file system, or set denyNetworkFS: false"))
	}
	opened.Close()
	if opened, err = dir.OpenDir(".", fsroot.Rules{StrictVirtual: true}); err != nil {
		return warned(name, root.Path+" is shared over a network", "copy it to a local file system; durward policy schema says what denyNetworkFS and strictVirtual do")
	}
	opened.Close()
	return check(name, safetext.Line(root.Path), nil)
}

// serverTime bounds all that is said with a server that is tried.
const serverTime = 20 * time.Second

// checkServer starts a server as a client does, and talks with it in both eras.
func checkServer(ctx context.Context, file string) checkData {
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	told, err := talkMCP(ctx, file)
	return check("server", told, withHint(err, "start it by hand: durward mcp --config "+file))
}

// The requests of a trial, and what stands in the result of each.
var mcpTrial = []struct{ request, wants string }{
	{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"durward doctor","version":"1"}}}`, "protocolVersion"},
	{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "tools"},
	{`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, "supportedVersions"},
}

func talkMCP(ctx context.Context, file string) (told string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	server := exec.CommandContext(ctx, self, "mcp", "--config", file, "--log-level", "error", "--trial")
	server.Args[0] = mainName
	server.WaitDelay = time.Second
	var complaints strings.Builder
	server.Stderr = &complaints
	in, err := server.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	told, err = askMCP(in, jsonrpc.NewReader(out, 0))
	in.Close()
	if ended := server.Wait(); err != nil || ended != nil {
		return "", &durward.Error{
			Kind: durward.Unavailable, Op: "doctor", Err: fmt.Errorf("%w: %s", errors.Join(err, ended), firstLine(complaints.String())),
		}
	}
	return told, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return safetext.Line(line)
}

// askMCP sends the requests of the trial and says what was answered.
func askMCP(in io.Writer, out *jsonrpc.Reader) (string, error) {
	var tools []string
	for _, trial := range mcpTrial {
		if _, err := io.WriteString(in, trial.request+"\n"); err != nil {
			return "", err
		}
		line, err := out.ReadLine()
		if err != nil {
			return "", err
		}
		var answer struct {
			Result map[string]json.RawMessage `json:"result"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.Result[trial.wants] == nil {
			return "", fmt.Errorf("it answers %.200s", line)
		}
		var list []struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(answer.Result["tools"], &list) == nil {
			for _, t := range list {
				tools = append(tools, t.Name)
			}
		}
	}
	return "answers initialize and server/discover, and lists " + strings.Join(tools, ", "), nil
}
