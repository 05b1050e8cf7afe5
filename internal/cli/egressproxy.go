package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/egress"
	"github.com/durward/durward/internal/netguard/egress/peers"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/source/manifest"
)

const (
	egressPort       = 3128
	egressHealthPort = 3129
)

// An egressServing is one `durward egress-proxy`.
type egressServing struct {
	*program
	host             string
	port, healthPort int
	transparent      bool
}

func (p *program) egressProxyCommand() *cobra.Command {
	x := &egressServing{program: p}
	cmd := &cobra.Command{
		Use:   "egress-proxy [FLAG…]",
		Short: "be the only way out of the workers of a domain package",
		Long: `Lets each worker reach what the egress_allowlist of its tools in the manifest names, and nothing else. A
worker is known by the address that it connects from, which the host of its base_url has to lead to; nobody else
is answered. The proxy speaks HTTP CONNECT, GET http://…, and SOCKS5. With --transparent it also listens at every
port of the lists, for workers that know no proxy: there the TLS hello or the Host field says where to. Names are
resolved here, and an address on no public network is refused unless the list names it. Each decision is a line of
JSON on standard error. GET /healthz is answered at 127.0.0.1 and --health-port.`,
		Example: "  durward egress-proxy --domain example_domain\n  durward egress-proxy --host 0.0.0.0 --transparent --manifest my/manifest.yaml --policies my/policies.yaml",
		Args:    exactly(0),
	}
	o := p.domainFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&x.host, "host", "127.0.0.1", "listen on this `ADDRESS`")
	f.IntVar(&x.port, "port", egressPort, "listen on this `PORT`; 0 picks a free one")
	f.BoolVar(&x.transparent, "transparent", false, "listen at every port of the lists, too")
	f.IntVar(&x.healthPort, "health-port", egressHealthPort, "say on this `PORT` of 127.0.0.1 that all is well; 0 picks a free one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return x.run(cmd.Context(), *o) }
	return cmd
}

// run is the whole of it: from flags to a proxy, and to its end.
func (x *egressServing) run(ctx context.Context, o manifest.Options) error {
	d, err := manifest.Load(o)
	if err != nil {
		return x.refuseDomain(err)
	}
	workers, err := workersOf(d)
	if err != nil {
		return err
	}
	told := &heldWriter{to: x.stderr}
	log := slog.New(slog.NewJSONHandler(safeJSON{told}, nil)).With("component", "egress")
	ctx, signals := catchSignals(ctx, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM)
	defer signals.stop()
	gate := peers.New(peers.Options{
		Peers: workers,
		Remedies: egress.Remedies{
			Host:    "is not in the egress_allowlist of this worker's tools; add it to the manifest to reach it",
			Private: "leads to an address that is not public; name the address itself in egress_allowlist to reach it",
		},
		Event: func(e peers.Event) { logEgress(log, e) },
	})
	defer gate.Close()
	at, err := x.open(ctx, gate, workers)
	if err != nil {
		return err
	}
	health, err := httpedge.Listen(ctx, httpedge.Address{Host: "127.0.0.1", Port: x.healthPort})
	if err != nil {
		return withHint(err, "choose another port with --health-port, or 0 for a free one")
	}
	fmt.Fprintln(x.stderr, httpedge.StartLine(at))
	for _, w := range workers {
		log.Info("worker", "worker", w.Name, "egress_allowlist", w.Dialer.Allow.Entries(), "any_host", w.Dialer.AnyHost)
	}
	told.release()
	return httpedge.New(http.HandlerFunc(sayHealthy), httpedge.Options{Logger: log}).Serve(ctx, health)
}

// open listens at every port there is to be. The address is the proxy's.
func (x *egressServing) open(ctx context.Context, gate *peers.Gate, workers []peers.Peer) (net.Addr, error) {
	l, err := x.listen(ctx, x.port)
	if err != nil {
		return nil, err
	}
	gate.Serve(l)
	if !x.transparent {
		return l.Addr(), nil
	}
	for _, port := range portsOf(workers) {
		named, err := x.listen(ctx, int(port))
		if err != nil {
			return nil, err
		}
		gate.ServeNamed(named, port)
	}
	return l.Addr(), nil
}

// listen opens one port. Everybody who is answered is known.
func (x *egressServing) listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := httpedge.Listen(ctx, httpedge.Address{Host: x.host, Port: port, Authenticated: true})
	return l, withHint(err, "choose another port or address; a port below 1024 may need rights")
}

// workersOf gives everybody who does the work of tools, with what all of these together may
// reach.
func workersOf(d *domain.Domain) ([]peers.Peer, error) {
	var order []netguard.Host
	lists := make(map[netguard.Host][]string)
	for _, t := range d.Tools {
		at, err := url.Parse(t.Transport.BaseURL)
		if err != nil {
			return nil, &durward.Error{Reason: durward.DomainNotLoaded, Op: "egress", Err: err}
		}
		host, err := netguard.CanonicalHost(at.Hostname())
		if err != nil {
			return nil, err
		}
		if !slices.Contains(order, host) {
			order = append(order, host)
		}
		lists[host] = append(lists[host], t.Egress.Entries()...)
	}
	workers := make([]peers.Peer, len(order))
	for i, host := range order {
		allow, err := netguard.ParseAllow(lists[host])
		if err != nil {
			return nil, err
		}
		workers[i] = peers.Peer{Name: host, Dialer: &netguard.Dialer{Allow: allow, AnyHost: !d.Policies.DenyEgress}}
	}
	return workers, nil
}

// portsOf lists the ports of all lists.
func portsOf(workers []peers.Peer) []uint16 {
	var ports []uint16
	for _, w := range workers {
		ports = append(ports, w.Dialer.Allow.Ports()...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// egressRules are the words of the manifest for what refuses.
var egressRules = map[egress.Rule]string{
	egress.RuleAllow: "egress_allowlist", egress.RulePrivate: "private_address", egress.RuleSNI: "sni",
}

// logEgress writes what became of one connection or request.
func logEgress(log *slog.Logger, e peers.Event) {
	rule, known := egressRules[e.Rule]
	if !known {
		rule = string(e.Rule)
	}
	fields := []any{"allowed", e.Allowed}
	if e.From.IsValid() {
		fields = append(fields, "from", e.From)
	}
	if e.Port != 0 {
		fields = append(fields, "host", e.Host, "port", e.Port)
	}
	for _, f := range [][2]string{
		{"worker", string(e.Peer)}, {"via", string(e.Via)}, {"rule", rule}, {"reason", string(e.Reason)}, {"asked", safetext.Line(e.Asked)},
	} {
		if f[1] != "" {
			fields = append(fields, f[0], f[1])
		}
	}
	level := slog.LevelInfo
	if !e.Allowed {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "egress", fields...)
}

// sayHealthy answers whoever asks: a proxy without its lists and its ports does not run.
func sayHealthy(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/healthz" {
		httpedge.WriteError(w, r, &durward.Error{Reason: durward.ToolNotFound, Op: "health", Err: errors.New("there is /healthz")})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{\"ok\":true}\n")) // nobody is left to tell
}
