package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/firecrawl"
)

// workerGrace is how long running calls of a worker may go on when it is to end. Those
// that are cancelled then still tell whom they asked, before container engines lose
// patience after ten seconds.
const workerGrace = 5 * time.Second

// A workerServing is one `durward worker firecrawl`.
type workerServing struct {
	*program
	host, tokenEnv string
	port           int
	allowRemote    bool
}

func (p *program) workerCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "worker", Short: "do the work of a tool behind a tool gateway",
		Example: "  durward worker firecrawl --help\n  durward help worker firecrawl",
	}, p.workerFirecrawlCommand())
}

func (p *program) workerFirecrawlCommand() *cobra.Command {
	x := &workerServing{program: p}
	cmd := &cobra.Command{
		Use:   "firecrawl [FLAG…]",
		Short: "fetch and crawl web pages with the Firecrawl API",
		Long: `Answers POST /run and GET /healthz until SIGTERM. It reads the variables FIRECRAWL_API_KEY, without
which it starts but is not healthy, FIRECRAWL_BASE_URL (default ` + firecrawl.DefaultBaseURL + `),
FIRECRAWL_DIALECT (auto, v1 or seed), FIRECRAWL_POLL_INTERVAL_MS (default 2000) and FIRECRAWL_MAX_ATTEMPTS
(default 3), and goes through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. Beyond loopback it
listens only with --token-env or --allow-remote; the latter suits a network that only the gateway is in.`,
		Example: `  FIRECRAWL_API_KEY=fc-key durward worker firecrawl
  FIRECRAWL_API_KEY=fc-key WORKER_TOKEN=s3cret durward worker firecrawl --host 0.0.0.0 --token-env WORKER_TOKEN`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.host, "host", "127.0.0.1", "listen on this `ADDRESS`")
	f.IntVar(&x.port, "port", 8080, "listen on this `PORT`; 0 picks a free one")
	f.StringVar(&x.tokenEnv, "token-env", "", "ask callers for the bearer token in the variable `NAME`")
	f.BoolVar(&x.allowRemote, "allow-remote", false, "answer every caller from other machines, too")
	return cmd
}

// run is the whole of it: from variables to a worker, and to its end.
func (x *workerServing) run(ctx context.Context) error {
	if x.port < 0 || x.port > 65535 {
		return usageError("give a port from 0 to 65535", "--port: %d is not a port", x.port)
	}
	o, err := firecrawl.FromEnv(x.lookup)
	if err != nil {
		return err
	}
	tool, err := firecrawl.New(o)
	if err != nil {
		return err
	}
	told := &heldWriter{to: x.stderr}
	log, err := x.logger(told, "worker")
	if err != nil {
		return err
	}
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	defer signals.stop()
	started := func(url string) {
		fmt.Fprintln(x.stderr, "Serving on "+url)
		if unwell := tool.Healthy(ctx); unwell != nil {
			x.note("warning: %s: every call will fail", unwell)
		}
		told.release()
	}
	return signals.unlessTwice(func() error {
		err := worker.Run(ctx, tool, worker.Options{
			Listen:   net.JoinHostPort(x.host, strconv.Itoa(x.port)),
			TokenEnv: x.tokenEnv, LookupEnv: x.lookup, AllowRemote: x.allowRemote,
			Grace: workerGrace, Started: started, Logger: log,
		})
		return withHint(err, "choose another port, or 0 for a free one")
	})
}

// lookup is os.LookupEnv for the program's own environment.
func (p *program) lookup(name string) (value string, ok bool) {
	value, ok = p.env[name]
	return value, ok
}
