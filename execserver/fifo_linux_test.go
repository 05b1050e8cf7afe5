//go:build linux

package execserver_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is neither a file nor a directory is refused at once by what reads and writes files,
// under a sandbox too, and the rest of the connection goes on.
func TestPipesAndDevicesNeverBlock(t *testing.T) {
	p, dir := greet(t, serve(t).url), openDir(t)
	fifo, socket, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	must(t, unix.Mkfifo(fifo, 0o666))
	l, err := net.Listen("unix", socket)
	must(t, err)
	defer l.Close()
	must(t, os.Symlink("fifo", link))
	for i, path := range []string{fifo, socket, link, "/dev/null", "/dev/zero", "/dev/tty", "/dev/stdin", "/dev/full"} {
		uri := "file://" + path
		for _, sandbox := range []any{nil, workspace(dir)} {
			for _, call := range []struct {
				method string
				params map[string]any
			}{
				{"fs/readFile", map[string]any{"path": uri}},
				{"fs/writeFile", map[string]any{"path": uri, "dataBase64": "QQ=="}},
				{"fs/open", map[string]any{"path": uri, "handleId": fmt.Sprint("r", i, sandbox == nil)}},
				{"fs/open", map[string]any{"path": uri, "handleId": fmt.Sprint("w", i, sandbox == nil), "mode": "replace"}},
				{"fs/copy", map[string]any{"sourcePath": uri, "destinationPath": "file://" + dir + "/copy", "recursive": true}},
				{"fs/readDirectory", map[string]any{"path": uri}},
			} {
				if call.method == "fs/copy" && (path == link || path == "/dev/stdin") {
					continue // a link is copied as one
				}
				call.params["sandbox"] = sandbox
				answer := p.ask(call.method, call.params)
				if writes := call.method == "fs/writeFile" || call.params["mode"] != nil; answer.Error == nil && writes && strings.HasPrefix(path, "/dev/") {
					continue // a device may be written to, if that does not block
				}
				p.refused(answer, -32600, -32603, -32004)
			}
		}
	}
	if exists(dir, "copy") {
		t.Error("something is copied")
	}
	for _, path := range []string{fifo, link, "/dev/null"} { // looking at one is no harm
		p.result(p.ask("fs/getMetadata", map[string]any{"path": "file://" + path}), nil)
	}
	p.lives()
}

// workspace is the sandbox object of a client of today that reads all and writes a folder.
func workspace(dir string) any {
	special := func(kind, access string) any {
		return map[string]any{"path": map[string]any{"type": "special", "value": map[string]any{"kind": kind}}, "access": access}
	}
	return map[string]any{
		"permissions": map[string]any{
			"type": "managed", "network": "restricted",
			"file_system": map[string]any{"type": "restricted", "entries": []any{special("root", "read"), special("project_roots", "write")}},
		},
		"cwd": "file://" + dir, "workspaceRoots": []string{"file://" + dir}, "windowsSandboxLevel": "disabled",
	}
}
