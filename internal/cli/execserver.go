package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/sandbox"
)

// An execServing is one `durward exec-server`.
type execServing struct {
	*program
	listen           string
	sandbox, root    string
	allowNet         []string
	requests         int
	endsWithInput    bool
	grace, wall, cpu time.Duration
	memory, pids     int64
	processes        int
	auth             map[string]string // the flags about who may connect, as they were given

	// given reports whether a flag was.
	given func(flag string) bool
}

func (p *program) execServerCommand() *cobra.Command {
	x := &execServing{program: p}
	cmd := &cobra.Command{
		Use:   "exec-server [FLAG…]",
		Short: "let coding agents start processes and work on files, over WebSocket",
		Long: `Prints its URL on standard output and serves the exec server's protocol there, on "/", until SIGTERM.
Whoever can connect can do what this user can, unless requests bring a sandbox or --sandbox and
--root hold all of them; so it listens on loopback addresses, and on others only with --ws-auth. With --listen
stdio it talks on standard input and output instead, a message on each line. Every call is on record
(durward audit tail). codex uses it with CODEX_EXEC_SERVER_URL=ws://IP:PORT in its environment.`,
		Example: `  durward exec-server
  durward exec-server --listen ws://127.0.0.1:8765 --sandbox workspace-write --root .
  durward exec-server --listen ws://0.0.0.0:8765 --ws-auth capability-token --ws-token-file token
  durward exec-server --listen stdio </dev/null`,
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			x.given = cmd.Flags().Changed
			x.auth = authFlags(cmd.Flags())
			return x.run(cmd.Context())
		},
	}
	x.flags(cmd.Flags())
	return cmd
}

func (x *execServing) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&x.listen, "listen", execserver.DefaultListenURL, "listen at `URL`: ws://IP:PORT, where port 0 picks a free one, or stdio")
	f.StringVar(&x.sandbox, "sandbox", "", "run nothing in a wider `MODE`: read-only, workspace-write or danger-full-access (the default)")
	f.StringVar(&x.root, "root", "", "hold all that is run, read and written to `DIR`")
	f.StringArrayVar(&x.allowNet, "allow-net", nil, "let http/request reach `HOST:PORT`")
	f.Var(span{&x.grace}, "session-grace", "keep the processes of a lost connection for so many `SECS` (default: 60 for clients that can come back, else 0)")
	f.String(execserver.FlagAuth, "", "ask who connects for a credential of `KIND`: capability-token or signed-bearer-token")
	f.String(execserver.FlagTokenFile, "", "the token is in `FILE`")
	f.String(execserver.FlagTokenSHA256, "", "the token has the SHA-256 digest `HEX`")
	f.String(execserver.FlagSecretFile, "", "bearer tokens are signed with the secret in `FILE` (HMAC)")
	f.String(execserver.FlagIssuer, "", "bearer tokens are from `ISSUER`")
	f.String(execserver.FlagAudience, "", "bearer tokens are for `AUDIENCE`")
	f.String(execserver.FlagClockSkew, "", "the clock of whoever signs may be so many `SECS` off")
	f.Var(span{&x.wall}, "limit-wall", "end a process after this `DURATION`")
	f.Var(span{&x.cpu}, "limit-cpu", "end a process that used more processor time than `DURATION`")
	f.Int64Var(&x.memory, "limit-memory", 0, "end a process that uses more memory than so many `BYTES`, with all it started")
	f.Int64Var(&x.pids, "limit-pids", 0, "let a process and all it starts be at most `N`")
	f.IntVar(&x.processes, "limit-processes", 0, "let a session have at most `N` processes (default 512)")
	f.IntVar(&x.requests, "concurrent-requests", 0, "work on at most `N` requests of a connection at once (default 64)")
	f.BoolVar(&x.endsWithInput, "exit-on-stdin-close", false, "end when standard input does")
}

// authFlags gives the flags about who may connect that were given.
func authFlags(f *pflag.FlagSet) map[string]string {
	given := map[string]string{}
	for _, name := range []string{
		execserver.FlagAuth, execserver.FlagTokenFile, execserver.FlagTokenSHA256, execserver.FlagSecretFile,
		execserver.FlagIssuer, execserver.FlagAudience, execserver.FlagClockSkew,
	} {
		if f.Changed(name) {
			given[name] = f.Lookup(name).Value.String()
		}
	}
	return given
}

// run is the whole of it: from flags to a server, and to its end.
func (x *execServing) run(ctx context.Context) error {
	o, err := x.options()
	if err != nil {
		return err
	}
	log, err := x.openLog(o.Logger, audit.Leave{})
	if err != nil {
		return err
	}
	defer log.Close()
	o.Recorder = log
	sandbox.ProbeAll() // kept by the engine; no call is to spend its time on it
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	defer signals.stop()
	if x.endsWithInput {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() { // a read that goes on at the end is left behind
			x.drainInput()
			cancel()
		}()
	}
	err = execserver.Run(ctx, x.listen, o)
	x.idle = err == nil // all that was started is dead
	return err
}

// drainInput comes back when standard input has ended.
func (x *execServing) drainInput() {
	room := make([]byte, 512)
	for {
		if _, err := x.stdin.Read(room); err != nil {
			return
		}
	}
}

// options gives what the flags say.
func (x *execServing) options() (o execserver.Options, err error) {
	at, err := execserver.ParseListenURL(x.listen)
	if err != nil {
		return o, usageError("use ws://IP:PORT or stdio", "--listen: %w", err)
	}
	x.talks = at.IsStdio()
	if x.endsWithInput && at.IsStdio() {
		return o, usageError("leave it out", "--exit-on-stdin-close: with stdio that is so anyway")
	}
	if err := x.checkNumbers(); err != nil {
		return o, err
	}
	if err := checkAllowNet(x.allowNet); err != nil {
		return o, err
	}
	if o.Auth, err = execserver.NewAuth(x.auth); err != nil {
		return o, err
	}
	o.Sandbox = durward.Mode(x.sandbox)
	switch o.Sandbox {
	case "", durward.ReadOnly, durward.WorkspaceWrite, durward.DangerFullAccess:
	default:
		return o, usageError("use read-only, workspace-write or danger-full-access", "--sandbox: there is no mode %q", x.sandbox)
	}
	if x.given("root") {
		if o.Root, err = filepath.EvalSymlinks(absolute(x.root, x.dir)); err != nil {
			return o, usageError("name a directory", "--root: %w", cause(err))
		}
	}
	o.Own = x.ownPaths()
	if state, err := x.stateDir(); err == nil {
		o.Hidden = []string{state} // the records of callers are for nobody who calls
	}
	o.AllowNet, o.Processes, o.Requests, o.Version = x.allowNet, x.processes, x.requests, x.version
	o.Limits = durward.Limits{Wall: x.wall, CPU: x.cpu, Memory: x.memory, Pids: x.pids}
	if x.given("session-grace") {
		o.SessionGrace = x.grace
		if x.grace == 0 {
			o.SessionGrace = -1
		}
	}
	o.Stdin, o.Stdout = x.stdin, x.stdout
	o.Logger = slog.New(slog.NewTextHandler(x.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o.Started = func(url string) { fmt.Fprintln(x.stdout, url) }
	return o, nil
}

// checkNumbers refuses numbers that mean nothing.
func (x *execServing) checkNumbers() error {
	for _, n := range []struct {
		flag  string
		value int64
		least int64
	}{
		{"session-grace", int64(x.grace), 0},
		{"limit-wall", int64(x.wall), 1},
		{"limit-cpu", int64(x.cpu), 1},
		{"limit-memory", x.memory, 1},
		{"limit-pids", x.pids, 1},
		{"limit-processes", int64(x.processes), 1},
		{"concurrent-requests", int64(x.requests), 1},
	} {
		if x.given(n.flag) && n.value < n.least {
			return usageError(fmt.Sprintf("use a number from %d, or leave it out", n.least), "--%s: it is too small", n.flag)
		}
	}
	return nil
}
