package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/engine/cache"
	"github.com/durward/durward/internal/engine/mcpclient"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/source/mcpservers"
)

// hubQueue is how many calls may wait for a slot; each waits no longer than its own time.
const hubQueue = 1024

// A hubServing is one `durward hub`.
type hubServing struct {
	*program
	host, file, sandbox string
	port                int
	allowRemote, stdio  bool
	allowHost           []string

	// given reports whether a flag was.
	given func(flag string) bool
}

func (p *program) hubCommand() *cobra.Command {
	x := &hubServing{program: p}
	cmd := &cobra.Command{
		Use:   "hub [FLAG…]",
		Short: "start MCP servers, and offer the tools of all of them behind one address",
		Long: `Starts the servers of a configuration (MCP_CONFIG_PATH or --config; default: config/mcp_servers.json, once durward trust add has trusted it), keeps them running, and serves clients of MCP at
/mcp, or with --stdio on standard input and output, and others by GET /tools, POST /execute, GET /health, /ready and /metrics, and POST /servers/NAME/restart. Arguments that name files have to name
them in the sandbox directory (SANDBOX_DIRECTORY, default /workspace). PORT, HOST, LOG_LEVEL, DEFAULT_TIMEOUT, MAX_TIMEOUT,
MAX_CONCURRENT_EXECUTIONS and MAX_OUTPUT_BYTES are read, too; flags win. SIGTERM lets calls end within 5 s and then ends the
servers, with all that they have started; a second one does not wait. With GATEWAY_TOKEN_FILE callers have to show the
token in that file, or one of those that the configuration names.`,
		Example: `  SANDBOX_DIRECTORY=/tmp/ws durward hub
  durward hub --config .mcp.json --sandbox-dir . --port 0`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			x.given = cmd.Flags().Changed
			return x.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.host, "host", "127.0.0.1", "listen on this `ADDRESS` (HOST)")
	f.IntVar(&x.port, "port", 8002, "listen on this `PORT`; 0 picks a free one (PORT)")
	f.StringVar(&x.file, "config", "", "the servers are in `FILE` (MCP_CONFIG_PATH; default: config/mcp_servers.json)")
	f.StringVar(&x.sandbox, "sandbox-dir", "", "hold the arguments of tools to `DIR` (SANDBOX_DIRECTORY; default: /workspace)")
	f.BoolVar(&x.stdio, "stdio", false, "talk MCP on standard input and output; HTTP is served, too, only where a port is given")
	f.BoolVar(&x.allowRemote, "allow-remote", false, "serve every caller from other machines, too")
	f.StringArrayVar(&x.allowHost, "allow-host", nil, "answer to this `NAME`, too")
	return cmd
}

// run is the whole of it: from settings to a server, and to its end.
func (x *hubServing) run(ctx context.Context) error {
	x.stderr.unhurry() // no call waits for who reads the log
	x.talks = x.stdio
	s, err := x.settingsOf()
	if err != nil {
		return err
	}
	e, err := x.load(s, true)
	if err != nil {
		return err
	}
	tokens, err := hubTokens(x.env[varGatewayToken], e.config.Tokens)
	if err != nil {
		return err
	}
	rules, err := x.edgeRules(x.allowHost, x.allowRemote, tokens)
	if err != nil {
		return err
	}
	h := &hubServer{hubServing: x, settings: e.settings, config: e.config, rules: rules, levels: make(chan string, 1)}
	var l net.Listener
	if !x.stdio || s.portGiven {
		if err := x.checkHost(s.host); err != nil {
			return err
		}
		l, err = httpedge.Listen(ctx, httpedge.Address{Host: s.host, Port: s.port, Authenticated: rules.Authenticate != nil, AllowRemote: x.allowRemote})
		if err != nil {
			return withHint(err, "choose another port, or 0 for a free one")
		}
		defer l.Close()
	}
	if err := h.open(); err != nil {
		return err
	}
	return h.serve(ctx, l)
}

// checkHost refuses what is no address by the name that it was given under: some shells have a HOST
// of their own.
func (x *hubServing) checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	from := "HOST"
	if x.given("host") {
		from = "--host"
	}
	return usageError("give an address such as 127.0.0.1 or ::1", "%s: %q is not a literal address", from, host)
}

// A hubServer keeps the servers and serves their tools.
type hubServer struct {
	*hubServing
	settings hubSettings
	config   *hubconfig.Config
	policy   *hubconfig.Policy
	rules    httpedge.Rules

	told    *heldWriter
	logger  *slog.Logger
	log     *audit.Log
	guard   *pathguard.Guard
	engine  *mcpclient.Engine
	kept    *cache.Engine // what calls go to: engine stands behind it
	source  *mcpservers.Source
	runtime *core.Runtime
	metrics *hub.Metrics
	mcp     *hub.MCP
	changed chan struct{} // has room for one
	opening opening
	levels  chan string // has room for one
}

// open builds all that stands behind the door. Nothing is started yet.
func (h *hubServer) open() (err error) {
	h.told = &heldWriter{to: h.stderr}
	h.logger = slog.New(slog.NewJSONHandler(safeJSON{h.told}, &slog.HandlerOptions{Level: h.settings.level, ReplaceAttr: gatewayAttr}))
	h.changed, h.opening = make(chan struct{}, 1), newOpening()
	if h.log, err = h.openLog(h.logger, audit.Leave{}); err != nil {
		return err
	}
	if h.guard, err = pathguard.Open([]string{h.settings.sandbox}, pathguard.Options{}); err != nil {
		return errors.Join(err, h.log.Close())
	}
	h.engine, err = mcpclient.New(mcpclient.Options{
		Servers: h.config.Servers, SandboxDir: h.settings.sandbox, Environ: h.env, Version: h.version, Expose: h.config.Expose, Refresh: h.config.Refresh,
		Logger: h.logger, Message: func(server string, callers []durward.Caller, params json.RawMessage) {
			h.mcp.Logged(server, callers, params)
		},
		Updated: func(_ string, params json.RawMessage) { h.mcp.Updated(params) },
		Changed: func(server string) {
			h.kept.Clear(server)
			select {
			case h.changed <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return errors.Join(err, h.guard.Close(), h.log.Close())
	}
	h.kept = cache.New(cache.Options{Engine: h.engine, Servers: h.config.Servers})
	if err = h.assemble(); err != nil {
		return errors.Join(err, h.engine.Close(), h.guard.Close(), h.log.Close())
	}
	return nil
}

// assemble makes the runtime.
func (h *hubServer) assemble() (err error) {
	warn := func(text string) { h.logger.Warn(text) }
	for _, text := range h.config.Warnings {
		warn(text)
	}
	if h.config.Missing {
		warn(fmt.Sprintf("there is no %s, so no server is started: make it with %s, and start the hub again", h.config.File, h.firstServers()))
	}
	o := mcpservers.Options{Servers: running{h.engine}, Judge: h.guard, Warn: warn}
	if h.config.Search {
		o.Taken = hub.SearchNames()
	}
	if h.source, err = mcpservers.New(h.config, o); err != nil {
		return err
	}
	h.policy = h.makePolicy()
	h.runtime, err = core.New(core.Options{
		Source: tokenHolders{h.source, h.policy}, Policy: h.policy, Recorder: h.log, Engines: map[string]core.Engine{mcpclient.Name: h.kept},
		MaxConcurrent: h.settings.concurrent, MaxQueue: hubQueue, QueueTime: h.settings.maxTimeout,
	})
	if err != nil {
		return err
	}
	h.metrics = hub.NewMetrics(func(tool string) bool { return h.serverOf(durward.ToolID(tool)) != "" }, h.runtime.Load)
	return h.openMCP()
}

// firstServers is what makes a configuration where there is none.
func (h *hubServer) firstServers() string {
	if h.settings.chosen {
		return "durward server add NAME --config " + shellPath(h.settings.file) + " -- COMMAND"
	}
	return "durward init --template hub . or durward server add NAME -- COMMAND"
}

func (h *hubServer) makePolicy() *hubconfig.Policy {
	return &hubconfig.Policy{
		Config: h.config, Default: h.settings.timeout, Most: h.settings.maxTimeout, OutputBytes: h.settings.outputBytes, Hash: h.config.Hash,
	}
}

// running tells the source of the servers that the engine keeps.
type running struct{ *mcpclient.Engine }

func (r running) Tools(server string) []mcpservers.Tool {
	known := r.Engine.Tools(server)
	tools := make([]mcpservers.Tool, len(known))
	for i, t := range known {
		tools[i] = mcpservers.Tool(t)
	}
	return tools
}

func (r running) Running(server string) bool {
	for _, s := range r.Servers() {
		if s.Name == server {
			return s.State == mcpclient.Running
		}
	}
	return false
}

// serve takes requests from a listener, unless it is nil, and from standard input where that was
// asked for, until a signal comes or one of them ends.
func (h *hubServer) serve(ctx context.Context, l net.Listener) error {
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	defer signals.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	door, err := hub.New(h.door())
	if err != nil {
		return errors.Join(err, h.close(ctx))
	}
	var beside sync.WaitGroup
	beside.Go(func() { h.tellLevels(ctx) })
	defer beside.Wait()
	defer cancel()
	ended, open := make(chan error, 2), 0
	beside.Go(func() { h.start(ctx, hubBegin); h.opening.tell(ctx) })
	here, left := context.WithCancel(ctx)
	defer left()
	if h.stdio { // the client is there, and waits for nothing but what servers have
		open++
		go func() { ended <- h.mcp.ServeStream(ctx, h.caller(), h.stdin, h.stdout); left() }()
	}
	if l != nil && h.mayListen(here) {
		open++
		server := httpedge.New(door, httpedge.Options{Grace: hubGrace, BodyBytes: 8 << 20, WriteError: hub.WriteError, Logger: h.logger})
		beside.Go(func() { <-server.Draining(); h.mcp.Drain() })
		fmt.Fprintln(h.stderr, httpedge.StartLine(l.Addr()))
		go func() { ended <- server.Serve(ctx, l) }()
	}
	h.told.release()
	var failed error
	grace, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	context.AfterFunc(ctx, func() { time.AfterFunc(hubGrace, over) })
	for open > 0 {
		select {
		case <-h.changed:
			h.refresh()
		case err := <-ended: // the other one ends, too
			open--
			failed = errors.Join(failed, err)
			cancel()
		case <-signals.second:
			over()
			return h.hurry(h.closing(grace), signals.status())
		}
	}
	closed := h.closing(grace)
	select {
	case err := <-closed:
		return errors.Join(failed, err)
	case <-signals.second:
		over()
		return h.hurry(closed, signals.status())
	}
}

const (
	// hubGrace is what calls get to end by themselves once no more are taken.
	hubGrace = 5 * time.Second
	// hubHurry is what the kernel gets to end killed servers in.
	hubHurry = time.Second
)

// closing closes all beside its caller. Calls have until the end of grace.
func (h *hubServer) closing(grace context.Context) <-chan error {
	closed := make(chan error, 1)
	go func() { closed <- h.close(grace) }()
	return closed
}

// hurry kills the servers, and waits no longer than that takes.
func (h *hubServer) hurry(closed <-chan error, status int) error {
	h.engine.Kill()
	timer := time.NewTimer(hubHurry)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
	return exitStatus(status)
}

func (h *hubServer) close(grace context.Context) error {
	h.mcp.Drain()
	h.runtime.Shutdown(grace)
	h.mcp.Close()
	err := errors.Join(h.engine.Close(), h.guard.Close(), h.log.Close())
	h.idle = true
	return err
}

// door gives the parts of the door.
func (h *hubServer) door() hub.Options {
	o := hub.Options{
		Runtime: h.runtime, Tools: h.offered, Servers: h.states, Restart: h.restart, Stderr: h.engine.Stderr, Rules: h.rules, Logger: h.logger,
		Timeout: func(tool durward.ToolID, asked time.Duration) time.Duration {
			return h.policy.Timeout(h.serverOf(tool), asked)
		},
		ParsesText: func(tool durward.ToolID) bool { return h.policy.ParsesText(h.serverOf(tool)) },
		Metrics:    h.metrics, MCP: h.mcp, Operates: h.allowsAll,
	}
	if h.config.Missing {
		o.Missing = "there is no " + filepath.Base(h.config.File)
	}
	return o
}

func (h *hubServer) serverOf(tool durward.ToolID) string {
	found, err := h.source.Find(context.Background(), tool)
	if target, ok := found.Spec.(*hubconfig.Target); ok && err == nil {
		return target.Server
	}
	return ""
}

func (h *hubServer) offered(caller durward.Caller) []hub.Tool {
	var tools []hub.Tool
	for _, e := range h.source.View().HTTP {
		if h.policy.Allows(caller, e.Tool) {
			tools = append(tools, hub.Tool{Tool: e.Tool, Server: e.Server, Original: e.Original, Qualified: e.Qualified, Annotations: e.Said.Annotations})
		}
	}
	return tools
}

func (h *hubServer) states() []hub.Server {
	var servers []hub.Server
	for _, s := range h.engine.Servers() {
		servers = append(servers, hub.Server{
			Name: s.Name, Running: s.State == mcpclient.Running, PID: s.PID, Since: s.Since, Restarts: s.Restarts, LastError: s.LastError,
			Tools: s.Tools, ProtocolVersion: s.ProtocolVersion, Era: s.Era, RetryAfter: s.RetryAfter, Sandbox: s.Report,
		})
	}
	return servers
}

func (h *hubServer) restart(ctx context.Context, server string) error {
	err := h.engine.Restart(ctx, server)
	h.refresh()
	return err
}
