// Command everything is an MCP server with everything that the protocol's conformance suite asks
// of a server: tools, resources and prompts that answer at once, that tell of their progress, that
// ask their client, and that change.
//
// Usage: everything [--stdio [--legacy]]
//
// Without a flag it serves http://127.0.0.1:PORT/mcp, with a port that it says on standard error. A
// legacy server is one of the older era only.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/mcpserve"
)

func main() {
	stdio := flag.Bool("stdio", false, "speak on standard input and output")
	legacy := flag.Bool("legacy", false, "know no server/discover")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in := io.Reader(os.Stdin)
	if *legacy {
		in = undiscovered(in)
	}
	if err := run(ctx, *stdio, in, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "everything:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdio bool, in io.Reader, out, told io.Writer) error {
	logger := slog.New(slog.NewTextHandler(told, nil))
	server, err := newServer(logger)
	if err != nil {
		return err
	}
	defer server.Close()
	if stdio {
		return server.ServeStream(ctx, durward.Caller{Name: "local"}, in, out)
	}
	return serve(ctx, server, logger, told)
}

// serve serves the one endpoint.
func serve(ctx context.Context, server *mcpserve.Server, logger *slog.Logger, told io.Writer) error {
	guard, err := httpedge.NewGuard(httpedge.Rules{})
	if err != nil {
		return err
	}
	l, err := httpedge.Listen(ctx, httpedge.Address{Host: "127.0.0.1"})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", guard.Wrap(server))
	edge := httpedge.New(mux, httpedge.Options{BodyBytes: 8 << 20, Grace: time.Second, Logger: logger})
	defer context.AfterFunc(ctx, server.Drain)()
	fmt.Fprintln(told, httpedge.StartLine(l.Addr()))
	return edge.Serve(ctx, l)
}
