package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

// DefaultListen is where a worker listens that is not told where.
const DefaultListen = "127.0.0.1:8080"

// Options say how a worker is served. The zero value serves callers on this machine at
// [DefaultListen].
type Options struct {
	// Listen is a literal address and a port: "0.0.0.0:8080", "[::1]:8080". Port 0 picks
	// a free one. Empty means [DefaultListen].
	Listen string
	// AllowRemote accepts callers from other machines without a token: where only the
	// gateway can connect, as in a network of containers. Beyond loopback this or TokenEnv
	// is needed.
	AllowRemote bool
	// TokenEnv names the environment variable that holds a token which /run asks for
	// ("Authorization: Bearer TOKEN"); /healthz stays open. A variable that is not set, or
	// empty, is an error: it never means that nobody is asked. Empty means no token.
	TokenEnv string
	// LookupEnv reads the environment. Nil means os.LookupEnv.
	LookupEnv func(name string) (value string, ok bool)
	// MaxRequestBytes bounds the body of a call. Zero means 4 MiB.
	MaxRequestBytes int64
	// Grace is how long running calls may go on when the worker is to end, before their
	// contexts are cancelled. Zero means 10 s.
	Grace time.Duration
	// Started is told the worker's URL once it accepts connections. Nil tells nobody.
	Started func(url string)
	// Logger receives a line for each call, at level info, and what tools do wrong; never
	// what was sent or answered. Causes of errors come at level debug. Nil discards all.
	Logger *slog.Logger
}

// Run serves a tool until ctx ends: then no further calls are taken, those that run get
// Grace to end, and after it their contexts are cancelled. It returns nil when all of
// them are over.
//
// The context of a call ends when its caller closes the connection. One that only ended
// its side, and waits for the answer, gets it.
func Run(ctx context.Context, tool Tool, o Options) error {
	address, err := o.address()
	if err != nil {
		return err
	}
	l, err := httpedge.Listen(ctx, address)
	if err != nil {
		return err
	}
	return Serve(ctx, l, tool, o)
}

// Serve is [Run] on a listener that is there already, and that it closes. Who can reach
// it is up to whoever made it.
func Serve(ctx context.Context, l net.Listener, tool Tool, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = 4 << 20
	}
	guard, err := o.guard(l.Addr())
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s := &server{tool: tool, maxBytes: o.MaxRequestBytes, logger: o.Logger}
	edge := httpedge.New(guard.Wrap(s), httpedge.Options{
		BodyBytes: o.MaxRequestBytes, Grace: o.Grace, WriteError: refuse, Logger: o.Logger,
	})
	if o.Started != nil {
		o.Started(httpedge.URL(l.Addr()))
	}
	return edge.Serve(ctx, l)
}

// guard says who is answered. A browser is not: a page that somebody looks at could
// otherwise have tools run. On loopback the name by which the worker was asked for has to
// be its own, as a page could point another one here. Beyond, and where a token is asked
// for that no page has, it is known by names that it cannot know itself.
func (o Options) guard(at net.Addr) (*httpedge.Guard, error) {
	tcp, ok := at.(*net.TCPAddr)
	rules := httpedge.Rules{
		NoOrigin: true, Open: []string{healthPath}, WriteError: refuse,
		AnyHost: !ok || !tcp.IP.IsLoopback() || o.TokenEnv != "",
	}
	if o.TokenEnv != "" {
		token, err := o.token()
		if err != nil {
			return nil, err
		}
		rules.Authenticate = httpedge.Tokens{token}.Authenticate
	}
	return httpedge.NewGuard(rules)
}

func (o Options) token() (httpedge.Token, error) {
	lookup := o.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	text, _ := lookup(o.TokenEnv)
	token, err := httpedge.NewToken("gateway", text)
	if err != nil {
		return token, &durward.Error{
			Reason: durward.BadUsage, Op: "worker", Hint: "set it to a text of letters, digits and -._~+/",
			Err: fmt.Errorf("the variable %s holds no token", o.TokenEnv),
		}
	}
	return token, nil
}

func (o Options) address() (httpedge.Address, error) {
	listen := o.Listen
	if listen == "" {
		listen = DefaultListen
	}
	at, err := netip.ParseAddrPort(listen)
	if err != nil {
		return httpedge.Address{}, &durward.Error{
			Reason: durward.BadUsage, Op: "listen", Hint: "write it as 127.0.0.1:8080 or [::1]:8080", Err: err,
		}
	}
	return httpedge.Address{
		Host: at.Addr().String(), Port: int(at.Port()), AllowRemote: o.AllowRemote, Authenticated: o.TokenEnv != "",
	}, nil
}
