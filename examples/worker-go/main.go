// Command worker-go is a tool worker that says a text back after a while:
//
//	curl localhost:8080/run -d '{"input": {"text": "hello", "after_ms": 500}}'
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/durward/durward/worker"
)

type input struct {
	Text    string `json:"text"`
	AfterMs int64  `json:"after_ms"`
}

func later(ctx context.Context, in input) (map[string]string, error) {
	select {
	case <-ctx.Done(): // the deadline is near, or the caller is gone
		return nil, ctx.Err()
	case <-time.After(time.Duration(in.AfterMs) * time.Millisecond):
		return map[string]string{"text": in.Text}, nil
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// In a container LISTEN is 0.0.0.0:8080, where nobody but the gateway is on its network.
	at := os.Getenv("LISTEN")
	o := worker.Options{Listen: at, AllowRemote: at != "", Logger: slog.Default()}
	o.Started = func(url string) { fmt.Fprintln(os.Stderr, "Serving on "+url) }
	if err := worker.Run(ctx, worker.Typed(later), o); err != nil {
		log.Fatal(err)
	}
}
