// Command mcpfloor is an MCP server, and the client of one, as the official SDK makes them: what
// a hub between the two is compared with.
//
//	mcpfloor serve                 a server with one tool, echo, on standard input and output
//	mcpfloor listen                the same over streamable HTTP; it prints its address
//	mcpfloor drive stdio PROGRAM…  a client of the server that PROGRAM is
//	mcpfloor drive http URL TOOL   a client of the server there
//
// A client reads lines with two numbers, how many calls are to be in flight and how often each of
// them is made, and answers with the nanoseconds that each call took and, last, that all of them
// took. All end with their input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpfloor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx := context.Background()
	switch {
	case len(args) == 1 && args[0] == "serve":
		go tick()
		return server().Run(ctx, &mcp.StdioTransport{})
	case len(args) == 1 && args[0] == "listen":
		return listen()
	case len(args) > 2 && args[0] == "drive" && args[1] == "stdio":
		return drive(ctx, &mcp.CommandTransport{Command: exec.Command(args[2], args[3:]...)}, "echo")
	case len(args) == 4 && args[0] == "drive" && args[1] == "http":
		return drive(ctx, &mcp.StreamableClientTransport{Endpoint: args[2]}, args[3])
	}
	return fmt.Errorf("what is %q to do?", args)
}

// tick bounds how long a call can take. A Go program (1.26 and 1.27) that begins to collect garbage
// in the instant in which it begins to read its input does nothing until that read or a timer
// ends, or for a minute.
func tick() {
	for range time.Tick(time.Second) {
	}
}

type said struct {
	Text string `json:"text"`
}

func server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "floor", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says the same."}, func(_ context.Context, _ *mcp.CallToolRequest, in said) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	return s
}

func listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	s := server()
	return http.Serve(l, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
}

func drive(ctx context.Context, to mcp.Transport, tool string) error {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "floor", Version: "1"}, nil).Connect(ctx, to, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	call := &mcp.CallToolParams{Name: tool, Arguments: said{"hello"}}
	out := bufio.NewWriter(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var inFlight, times int
		if _, err := fmt.Sscan(lines.Text(), &inFlight, &times); err != nil {
			return err
		}
		took, failed := make([]time.Duration, inFlight*times), make([]error, inFlight)
		began := time.Now()
		var callers sync.WaitGroup
		for i := range inFlight {
			callers.Go(func() {
				for k := range times {
					began := time.Now()
					if result, err := session.CallTool(ctx, call); err != nil || result.IsError {
						failed[i] = fmt.Errorf("%v: %+v", err, result)
						return
					}
					took[i*times+k] = time.Since(began)
				}
			})
		}
		callers.Wait()
		all := time.Since(began)
		for _, err := range failed {
			if err != nil {
				return err
			}
		}
		for _, t := range append(took, all) {
			fmt.Fprint(out, int64(t), " ")
		}
		fmt.Fprintln(out)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}
