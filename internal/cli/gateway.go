package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/door/gateway"
	"github.com/durward/durward/internal/engine/worker"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/source/manifest"
	"github.com/durward/durward/site"
)

const (
	gatewayHost = "127.0.0.1"
	gatewayPort = 8000
	// gatewayGrace is what runs get to end once the gateway is to.
	gatewayGrace = 30 * time.Second
	// gatewayBody is more than any policies allow; they bound the body of a run.
	gatewayBody = 1 << 30
)

// A gatewayServing is one `durward gateway`.
type gatewayServing struct {
	*program
	host        string
	port        int
	allowRemote bool
	allowHost   []string
	files       *manifest.Options

	// given reports whether a flag was.
	given func(flag string) bool
}

func (p *program) gatewayCommand() *cobra.Command {
	x := &gatewayServing{program: p}
	cmd := &cobra.Command{
		Use:   "gateway [FLAG…]",
		Short: "run the tools of a domain package in their workers, one address for each",
		Long: `Serves POST /v1/tools/{id}:run, and GET /v1/tools, /v1/domain, /healthz, /readyz and /metrics. A package with mistakes is
not served: the gateway runs, and says at /healthz what is wrong. SIGHUP loads it again and keeps the old one after
any mistake. SIGTERM lets runs end within 30 s; a second one does not wait. With DURWARD_TOKEN_FILE callers have to
show the token in that file.`,
		Example: `  DOMAIN_ID=example_domain durward gateway
  DOMAIN_ID=example_domain durward gateway --port 0
  durward gateway validate`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x.given = cmd.Flags().Changed
			return x.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.host, "host", gatewayHost, "listen on this `ADDRESS`")
	f.IntVar(&x.port, "port", gatewayPort, "listen on this `PORT`; 0 picks a free one")
	f.BoolVar(&x.allowRemote, "allow-remote", false, "serve every caller from other machines, too")
	f.StringArrayVar(&x.allowHost, "allow-host", nil, "answer to this `NAME`, too")
	x.files = p.domainFlags(cmd)
	cmd.AddCommand(p.gatewayValidateCommand())
	return cmd
}

// run is the whole of it: from flags to a server, and to its end.
func (x *gatewayServing) run(ctx context.Context) error {
	x.stderr.unhurry() // no run waits for who reads the log
	x.tolerateGarbage()
	tokens, err := readTokens(varTokenFile, x.env[varTokenFile])
	if err != nil {
		return err
	}
	rules, err := x.edgeRules(x.allowHost, x.allowRemote, tokens)
	if err != nil {
		return err
	}
	if err := x.address(); err != nil {
		return err
	}
	l, err := httpedge.Listen(ctx, httpedge.Address{
		Host: x.host, Port: x.port, Authenticated: rules.Authenticate != nil, AllowRemote: x.allowRemote,
	})
	if err != nil {
		return withHint(err, "choose another port, or 0 for a free one")
	}
	g := &gatewayServer{gatewayServing: x, rules: rules, shared: gateway.NewShared(), level: new(slog.LevelVar)}
	if err := g.open(); err != nil {
		return errors.Join(err, l.Close())
	}
	return g.serve(ctx, l)
}

// address takes the place to listen from the variable, where no flag says it.
func (x *gatewayServing) address() error {
	text := x.env[varListen]
	if text == "" {
		return nil
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return usageError("write it as 127.0.0.1:8000 or [::1]:8000", "%s: %w", varListen, err)
	}
	if !x.given("host") {
		x.host = at.Addr().String()
	}
	if !x.given("port") {
		x.port = int(at.Port())
	}
	return nil
}

// edgeRules say which requests a server looks at. Where it is reached by names that it cannot
// know, no page in a browser may use it. Where there are tokens callers have to show one.
func (*program) edgeRules(allowHost []string, allowRemote bool, tokens httpedge.Tokens) (httpedge.Rules, error) {
	rules := httpedge.Rules{Hosts: allowHost, AnyHost: allowRemote, NoOrigin: allowRemote}
	if _, err := httpedge.NewGuard(rules); err != nil {
		return rules, usageError("name a host, like tools.example.org or tools.example.org:8000", "--allow-host: %w", cause(err))
	}
	if len(tokens) > 0 {
		rules.Authenticate = tokens.Authenticate
	}
	return rules, nil
}

// readTokens gives the token of the file that a variable names; an empty name is none.
func readTokens(variable, file string) (httpedge.Tokens, error) {
	if file == "" {
		return nil, nil
	}
	token, _, err := site.ReadTokenFile(file)
	if e := durward.AsError(err); e != nil {
		told := *e
		told.Hint = "set " + variable + " to a file that holds a token and that you alone can open"
		return nil, &told
	}
	return httpedge.Tokens{httpedge.Token(token)}, err
}

// A gatewayServer serves a domain package, and another one in its place when it is told to.
type gatewayServer struct {
	*gatewayServing
	rules  httpedge.Rules
	shared *gateway.Shared
	level  *slog.LevelVar
	logger *slog.Logger
	told   *heldWriter
	log    *audit.Log
	engine *worker.Engine
	now    *relay
}

// open builds the first door. A package with mistakes is no reason not to.
func (g *gatewayServer) open() error {
	g.told = &heldWriter{to: g.stderr}
	g.logger = slog.New(slog.NewJSONHandler(safeJSON{g.told}, &slog.HandlerOptions{Level: g.level, ReplaceAttr: gatewayAttr}))
	log, err := g.openLog(g.logger, audit.Leave{})
	if err != nil {
		return err
	}
	g.log = log
	g.engine = worker.New(worker.Options{
		Secret: func(variable string) (string, bool) { value, ok := g.env[variable]; return value, ok },
		Logger: g.logger,
	})
	door, err := g.load()
	if err != nil {
		g.logger.Error("the domain package is not served", "error", err.Error())
		door, err = g.broken(err)
	}
	if err != nil {
		return errors.Join(err, g.engine.Close(), log.Close())
	}
	g.now = newRelay(door)
	return nil
}

// load builds a door for the domain package as it is now.
func (g *gatewayServer) load() (*gateway.Door, error) {
	d, err := manifest.Load(*g.files)
	if err != nil {
		return nil, err
	}
	if err := g.checkSecrets(d); err != nil {
		return nil, err
	}
	runtime, err := core.New(core.Options{
		Source: manifest.New(d), Policy: domain.NewPolicy(d), Recorder: g.log, Engines: map[string]core.Engine{worker.Name: g.engine},
		MaxConcurrent: d.Policies.MaxInflight, MaxQueue: queueOf(d.Policies.MaxQueue), QueueTime: d.Policies.QueueTimeout,
	})
	if err != nil {
		return nil, err
	}
	door, err := gateway.New(gateway.Options{
		Domain: d, Runtime: runtime, Health: g.health, Shared: g.shared, Rules: g.rules, Logger: g.logger,
		IncludeInput: d.Policies.IncludeRequestBody,
	})
	if err == nil {
		g.level.Set(gatewayLevels[d.Policies.LogLevel])
	}
	return door, err
}

// checkSecrets finds the tokens that workers want to be shown and that nobody gave.
func (g *gatewayServer) checkSecrets(d *domain.Domain) error {
	var missing config.Problems
	for _, t := range d.Tools {
		if name := t.Transport.TokenEnv; name != "" && g.env[name] == "" {
			missing.Add(t.Where, "%s.transport.auth.env: the variable %s is not set", t.Place, name)
		}
	}
	return missing.Err()
}

// queueOf gives what the core calls a queue of that length: its zero is a default.
func queueOf(length int) int {
	if length == 0 {
		return -1
	}
	return length
}

func (g *gatewayServer) health(ctx context.Context, t *domain.Tool) gateway.Health {
	return gateway.Health(g.engine.Health(ctx, t))
}

// broken builds the door that says what is wrong.
func (g *gatewayServer) broken(err error) (*gateway.Door, error) {
	e := &gateway.LoadError{Message: err.Error(), Reason: err.Error()}
	if problems := config.ProblemsOf(err); len(problems) > 0 {
		first := problems[0]
		e.Message, e.File, e.Line, e.Reason = problems.Error(), first.Where.File, first.Where.Line, first.Message
	}
	return gateway.New(gateway.Options{Broken: e, Shared: g.shared, Rules: g.rules, Logger: g.logger})
}

// serve takes requests until a signal comes.
func (g *gatewayServer) serve(ctx context.Context, l net.Listener) error {
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	defer signals.stop()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	server := httpedge.New(g.now, httpedge.Options{
		Grace: gatewayGrace, BodyBytes: gatewayBody, WriteError: g.refuse, Logger: g.logger,
	})
	fmt.Fprintln(g.stderr, httpedge.StartLine(l.Addr()))
	g.told.release()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	return signals.await(ended, again, g.reload, g.close)
}

// refuse answers what comes when the gateway is about to end.
func (g *gatewayServer) refuse(w http.ResponseWriter, r *http.Request, err error) {
	g.now.current().(*gateway.Door).Refuse(w, r, err)
}

// reload serves the domain package as it is now. After any mistake the one before goes on.
func (g *gatewayServer) reload() {
	next, err := g.load()
	if err != nil && g.now.current().(*gateway.Door).Broken != nil {
		g.logger.Error("the domain package is still not served", "error", err.Error())
		if next, err = g.broken(err); err == nil { // it says what is wrong now
			g.replace(next)
			return
		}
	}
	if err != nil {
		g.shared.SetReloadError(err.Error())
		g.logger.Error("the domain package stays as it was", "error", err.Error())
		return
	}
	g.shared.SetReloadError("")
	g.replace(next)
	g.logger.Info("the domain package was loaded again")
}

func (g *gatewayServer) replace(next *gateway.Door) {
	g.now.replace(next, func(err error) { g.logger.Error("the old domain package did not close", "error", err.Error()) })
}

func (g *gatewayServer) close() error {
	err := errors.Join(g.now.close(), g.engine.Close(), g.log.Close())
	g.idle = true
	return err
}

// gatewayLevels are the words that policies have for levels of the log.
var gatewayLevels = map[string]slog.Level{
	"DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARNING": slog.LevelWarn, "ERROR": slog.LevelError,
}

// gatewayAttr gives the time and the level of a line the names that the gateway's log has.
func gatewayAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		a.Key = "ts"
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			a.Value = slog.StringValue(levelWord(level))
		}
	}
	return a
}

func levelWord(level slog.Level) string {
	if level == slog.LevelWarn {
		return "WARNING"
	}
	return level.String()
}
