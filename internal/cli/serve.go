package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/sandbox"
	"github.com/durward/durward/internal/source/pages"
	"github.com/durward/durward/site"
)

// A serving is one `durward serve`.
type serving struct {
	*program
	dir string

	host, file, timeout, envFile string
	port                         int
	maxOutput                    int64
	addEnv, allowHost, allowNet  []string
	level                        string
	allowRemote, check           bool

	// given reports whether a flag was.
	given func(flag string) bool
}

func (p *program) serveCommand() *cobra.Command {
	x := &serving{program: p}
	cmd := &cobra.Command{
		Use:   "serve [FLAG…] DIR",
		Short: "serve a folder of pages and run the commands that they allow",
		Long: `A GET reads a page, a POST to it runs one of the commands that its frontmatter lists, in the
page's directory. DIR holds README.md. SIGHUP reads the configuration, the variables and the token
again and keeps the old ones when anything is wrong. SIGTERM lets running commands end within the
grace time, 10 s by default; a second one does not wait. Flags win over the variables DURWARD_LISTEN,
DURWARD_TIMEOUT and DURWARD_TOKEN_FILE, and those over the configuration.`,
		Example: `  durward serve docs
  durward serve docs -p 0 --timeout 5 -e DB=notes.db
  durward serve docs --check`,
		Args:    exactly(1),
		Version: p.version,
		RunE: func(cmd *cobra.Command, args []string) error {
			x.dir, x.given = args[0], cmd.Flags().Changed
			return x.run(cmd.Context())
		},
	}
	cmd.SetVersionTemplate("durward {{.Version}}\n")
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&x.host, "host", "h", site.DefaultHost, "listen on this `ADDRESS`")
	f.IntVarP(&x.port, "port", "p", site.DefaultPort, "listen on this `PORT`; 0 picks a free one")
	f.StringVarP(&x.file, "config", "c", "", "configure the site by `FILE` (TOML)")
	f.StringVar(&x.timeout, "timeout", "", "end a command after so many `SECS` (default 30)")
	f.StringArrayVarP(&x.addEnv, "env", "e", nil, "give commands the variable `NAME=VALUE`")
	f.StringVar(&x.envFile, "env-file", "", "give commands the variables in `FILE`, a NAME=VALUE on each line")
	f.Int64Var(&x.maxOutput, "max-output", 0, "end a command that prints more than so many `BYTES` (default 1048576)")
	f.BoolVar(&x.allowRemote, "allow-remote", false, "serve every caller from other machines, too")
	f.StringArrayVar(&x.allowHost, "allow-host", nil, "answer to this `NAME`, too")
	f.StringArrayVar(&x.allowNet, "allow-net", nil, "let commands reach `HOST:PORT`")
	f.StringVar(&x.level, "sandbox-level", "auto", "run commands at this `LEVEL`: auto, 0, 1 or 2")
	f.BoolVar(&x.check, "check", false, "only look at every page and say what is wrong with it")
	f.Bool("help", false, "show this help") // -h is the host
	f.Bool("version", false, "print the version")
	return cmd
}

// run is the whole of it: from flags to a server, and to its end.
func (x *serving) run(ctx context.Context) error {
	if x.dir == "" {
		return usageError("name a folder of pages", "DIR is empty")
	}
	if err := x.findReadme(ctx); err != nil {
		x.tell(err, "")
		return exitStatus(1)
	}
	c, err := x.config()
	if err != nil {
		return err
	}
	if x.check {
		return x.checkPages(ctx, c)
	}
	told := &heldWriter{to: x.stderr}
	logger, err := x.logger(told, "site")
	if err != nil {
		return err
	}
	l, err := httpedge.Listen(ctx, httpedge.Address{
		Host: c.Host, Port: c.Port, Authenticated: len(c.Tokens) > 0, AllowRemote: x.allowRemote,
	})
	if err != nil {
		return withHint(err, "choose another port, or 0 for a free one")
	}
	s := &siteServer{serving: x, began: c, log: &siteLog{Logger: logger}, addr: l.Addr()}
	if err := s.open(c); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.serve(ctx, l, told)
}

// findReadme refuses a folder that holds no README.md, as most folders do that somebody
// names by mistake.
func (x *serving) findReadme(ctx context.Context) error {
	const fix = "name a folder of pages, or make one: durward init DIR"
	files, err := site.OpenLocalFS(x.dir)
	if err != nil {
		return withHint(err, fix)
	}
	defer files.Close()
	readme, err := files.Resolve(ctx, "")
	if err == nil {
		return readme.Body.Close()
	}
	if durward.ReasonOf(err) == durward.FileNotFound {
		err = fmt.Errorf("%s holds no README.md", x.dir)
		return &durward.Error{Reason: durward.FileNotFound, Op: "serve", Hint: fix, Err: err}
	}
	return err
}

// A siteServer serves a site, and another one in its place when it is told to.
type siteServer struct {
	*serving
	// began is what the listener and the server were made by.
	began site.Config
	addr  net.Addr
	log   *siteLog
	audit io.Closer
	now   *relay
}

// open builds the first site, with the log that all of them share.
func (s *siteServer) open(c site.Config) error {
	log, err := s.openLog(s.log.Logger, audit.Leave{})
	if err != nil {
		return err
	}
	s.audit, s.log.Recorder = log, log
	first, err := s.build(c)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	s.now = newRelay(first)
	sandbox.Probe() // kept by the engine; no call is to spend its time on it
	return nil
}

func (s *siteServer) build(c site.Config) (handler, error) {
	c.Logger = s.log.Logger
	state, err := s.stateDir()
	if err == nil {
		state, err = filepath.EvalSymlinks(state)
	}
	if err != nil {
		return nil, err
	}
	c.Hidden = append(c.Hidden, state) // the records of callers are for nobody who calls
	h, err := site.New(c, site.WithRecorder(s.log))
	if err != nil {
		return nil, s.blameHome(err)
	}
	return h.(handler), nil // as site.New promises
}

// serve takes requests until a signal comes.
func (s *siteServer) serve(ctx context.Context, l net.Listener, told *heldWriter) error {
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	defer signals.stop()
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP) // also under nohup: it does not end us
	defer signal.Stop(again)
	server := httpedge.New(s.now, httpedge.Options{Grace: s.began.ShutdownGrace, WriteError: site.WriteError, Logger: s.log.Logger})
	fmt.Fprintln(s.stderr, httpedge.StartLine(s.addr))
	if s.began.Sandbox.IsBuiltIn() && s.began.SandboxLevel == durward.LevelAuto {
		s.noteWeakness()
	}
	for _, name := range slices.Sorted(maps.Keys(pages.Fixed())) {
		if _, given := s.began.Env[name]; given {
			s.note("warning: the variable %s has no effect: every command gets the same one", name)
		}
	}
	told.release()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	return signals.await(ended, again, s.reload, s.close)
}

func (s *siteServer) close() error {
	err := errors.Join(s.now.close(), s.audit.Close())
	s.idle = true
	return err
}

// reload reads everything again that is no flag and no variable. After any mistake all
// stays as it was.
func (s *siteServer) reload() {
	c, err := s.config()
	if err == nil {
		err = s.guarded(c)
	}
	var next handler
	if err == nil {
		next, err = s.build(c)
	}
	if err != nil {
		s.log.Error("the configuration stays as it was", "code", durward.ReasonOf(err).Code(), "error", strings.Join(details(err), "; "))
		return
	}
	for _, fixed := range []struct {
		key     string
		changed bool
	}{{"host", c.Host != s.began.Host}, {"port", c.Port != s.began.Port}, {"shutdown_grace", c.ShutdownGrace != s.began.ShutdownGrace}} {
		if fixed.changed {
			s.log.Warn("the new value needs a restart", "key", fixed.key)
		}
	}
	s.now.replace(next, func(err error) { s.log.Error("the old site did not close", "error", err) })
	s.log.Info("the configuration was read again")
}

// guarded refuses a configuration without credentials for a server that only listens
// beyond loopback because it had some.
func (s *siteServer) guarded(c site.Config) error {
	tcp, ok := s.addr.(*net.TCPAddr)
	if ok && tcp.IP.IsLoopback() || len(c.Tokens) > 0 || s.allowRemote {
		return nil
	}
	return &durward.Error{
		Reason: durward.RemoteDenied, Op: "reload", Rule: "loopback",
		Err: fmt.Errorf("%s is not a loopback address, and the new configuration asks for no credential", s.addr),
	}
}

// config puts flags over variables, those over the file, and that over the defaults.
func (x *serving) config() (c site.Config, err error) {
	c = site.Config{Host: site.DefaultHost, Port: site.DefaultPort}
	if x.file != "" {
		if c, err = site.LoadConfig(x.file); err != nil {
			return c, err
		}
	}
	c.Root, c.Home, c.Environ = x.dir, x.home(), x.env
	for _, step := range []func(*site.Config) error{x.address, x.hosts, x.token, x.limits, x.variables, x.sandbox} {
		if err := step(&c); err != nil {
			return c, err
		}
	}
	c.Own = x.ownPaths(c.Hidden...)
	return c, nil
}

// sandbox says how commands are held.
func (x *serving) sandbox(c *site.Config) (err error) {
	if len(x.allowNet) > 0 && !c.Sandbox.IsBuiltIn() {
		return usageError("write the address into [sandbox.network] of "+x.file, "--allow-net changes the built-in policy, and %s has one of its own", x.file)
	}
	if err := checkAllowNet(x.allowNet); err != nil {
		return err
	}
	c.AllowNet = x.allowNet
	c.SandboxLevel, err = levelNamed("--sandbox-level", x.level)
	return err
}

// address says where to listen.
func (x *serving) address(c *site.Config) error {
	if text := x.env[varListen]; text != "" {
		address, err := netip.ParseAddrPort(text)
		if err != nil {
			return usageError("write it as 127.0.0.1:8000 or [::1]:8000", "%s: %w", varListen, err)
		}
		c.Host, c.Port = address.Addr().String(), int(address.Port())
	}
	if x.given("host") {
		c.Host = x.host
	}
	if x.given("port") {
		c.Port = x.port
	}
	return nil
}

// hosts adds the names that the site answers to.
func (x *serving) hosts(c *site.Config) error {
	if _, err := httpedge.NewGuard(httpedge.Rules{Hosts: x.allowHost}); err != nil {
		return usageError("name a host, like site.example.org or site.example.org:8000", "--allow-host: %w", durward.AsError(err).Err)
	}
	c.AllowedHosts = append(c.AllowedHosts, x.allowHost...)
	return nil
}

func (x *serving) token(c *site.Config) error {
	file := x.env[varTokenFile]
	if file == "" {
		return nil
	}
	token, path, err := site.ReadTokenFile(file)
	c.Tokens, c.Hidden = site.Tokens{token}, append(c.Hidden, path)
	return err
}

func (x *serving) limits(c *site.Config) error {
	from, text := "--timeout", x.timeout
	if !x.given("timeout") {
		from, text = varTimeout, x.env[varTimeout]
	}
	if text != "" {
		timeout, err := site.ParseSeconds(text)
		if err != nil {
			return usageError("give a number of seconds, like 30 or 2.5", "%s %w", from, err)
		}
		c.Limits.Timeout = timeout
	}
	if x.given("max-output") {
		if x.maxOutput < 1 {
			return usageError("give a number of bytes", "--max-output %d leaves no room", x.maxOutput)
		}
		c.Limits.OutputBytes = x.maxOutput
	}
	return nil
}

// variables puts those of flags over those of the env file.
func (x *serving) variables(c *site.Config) error {
	all := map[string]string{}
	maps.Copy(all, c.Env)
	if x.envFile != "" {
		env, err := site.ReadEnvFile(x.envFile)
		if err != nil {
			return err
		}
		maps.Copy(all, env)
		path, err := filepath.EvalSymlinks(absolute(x.envFile, x.program.dir))
		if err != nil {
			return usageError("name an env file that exists", "--env-file %s: %w", x.envFile, cause(err))
		}
		c.Hidden = append(c.Hidden, path)
	}
	for _, entry := range x.addEnv {
		name, value, err := site.ParseVariable(entry)
		if err != nil {
			return usageError("write --env NAME=VALUE", "--env: %w", err)
		}
		all[name] = value
	}
	c.Env = all
	return nil
}
