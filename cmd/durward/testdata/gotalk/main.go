// Command gotalk goes to an MCP server, or starts it, with the Go library for clients, and does
// what its input says, in the manner of talk.mjs.
//
// Usage: gotalk VERSION URL, or PROGRAM [ARGUMENT…], with the newest version of the protocol to speak.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type order struct {
	List, Cancel bool
	Call         *mcp.CallToolParams
}

func main() {
	talk := &talk{out: json.NewEncoder(os.Stdout), cancel: func() {}}
	client := mcp.NewClient(&mcp.Implementation{Name: "gotalk", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			talk.print("progress", r.Params.Progress)
		},
	})
	session, err := client.Connect(context.Background(), transport(os.Args[2], os.Args[3:]), &mcp.ClientSessionOptions{ProtocolVersion: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	talk.print("open", true)
	if err := talk.obey(session); err != nil {
		log.Print(err)
	}
	talk.cancel() // Close would wait for the answer
	if err := session.Close(); err != nil {
		log.Fatal(err)
	}
}

// transport leads to a server at a URL, or to one that is started.
func transport(target string, args []string) mcp.Transport {
	if strings.HasPrefix(target, "http:") {
		return &mcp.StreamableClientTransport{Endpoint: target}
	}
	server := exec.Command(target, args...)
	server.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: server}
}

// A talk is what is said on standard output, and how to end the call that runs.
type talk struct {
	mu     sync.Mutex
	out    *json.Encoder // guarded by mu
	cancel context.CancelFunc
}

func (t *talk) print(what string, value any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.out.Encode(map[string]any{what: value}); err != nil {
		log.Fatal(err)
	}
}

// obey does what the input says until it ends.
func (t *talk) obey(session *mcp.ClientSession) error {
	for in := json.NewDecoder(os.Stdin); ; {
		var o order
		if err := in.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		ctx := context.Background()
		switch {
		case o.Cancel:
			t.cancel()
		case o.List:
			t.answer(session.ListTools(ctx, nil))
		case o.Call != nil:
			ctx, t.cancel = context.WithCancel(ctx)
			o.Call.SetProgressToken("token")
			go func() { t.answer(session.CallTool(ctx, o.Call)) }()
		}
	}
}

func (t *talk) answer(result any, err error) {
	if err != nil {
		t.print("error", err.Error())
		return
	}
	t.print("result", result)
}
