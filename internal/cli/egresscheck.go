package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/durward/durward/internal/netguard/breakout"
	"github.com/durward/durward/internal/safetext"
)

// An egressCheck is one `durward egress-check`.
type egressCheck struct {
	*program
	host, inside, ipv6, dns, udp, redirect, proxy string
	addresses                                     []string
}

func (p *program) egressCheckCommand() *cobra.Command {
	x := &egressCheck{program: p}
	cmd := &cobra.Command{
		Use:   "egress-check [FLAG…] [HOST:PORT…] [-- ARGV…]",
		Short: "try to break out of the network that this runs in",
		Long: `Tries every way out that a worker should not have: another host, another port, a bare address, an inside
address, IPv6, DNS and UDP, directly and by the proxy that HTTPS_PROXY names. Each HOST:PORT is allowed and has to be
reached. Exits with 0 when all is as it should be, with 9 when something is open, with 8 when only an allowed target
could not be reached. With ARGV that program takes this one's place unless something is open. What is tried without
flags is on the public internet.`,
		Example: `  durward egress-check api.firecrawl.dev:443
  durward egress-check --json --host example.org:443 --address 8.8.8.8:443 api.firecrawl.dev:443
  durward egress-check api.firecrawl.dev:443 -- durward worker firecrawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			return x.run(cmd.Context(), args[:dash], args[dash:])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.host, "host", "example.com:443", "a `HOST:PORT` that may not be reached")
	f.StringArrayVar(&x.addresses, "address", []string{"1.1.1.1:443"}, "an `IP:PORT` that may not be reached; can be given again")
	f.StringVar(&x.inside, "inside", "169.254.169.254:80", "an `IP:PORT` on no public network that may not be reached")
	f.StringVar(&x.ipv6, "ipv6", "[2606:4700:4700::1111]:443", "an `IP:PORT` that may not be reached by IPv6")
	f.StringVar(&x.dns, "dns", "1.1.1.1:53", "a name server at `IP:PORT` that may not answer")
	f.StringVar(&x.udp, "udp", "162.159.200.1:123", "an `IP:PORT` that may not answer a datagram; it is asked for the time")
	f.StringVar(&x.redirect, "redirect", "", "an allowed `URL` that redirects to an inside address, which may not be reached")
	f.StringVar(&x.proxy, "proxy", cmp.Or(p.env["HTTPS_PROXY"], p.env["https_proxy"]), "the proxy at `URL` (HTTPS_PROXY)")
	f.Lookup("proxy").DefValue = ""
	return cmd
}

// egressData is what was tried.
type egressData struct {
	// Held is set when no way is open that should not be.
	Held     bool            `json:"held"`
	Attempts []egressAttempt `json:"attempts"`
}

type egressAttempt struct {
	Name   string         `json:"name"`
	Route  breakout.Route `json:"route"`
	Target string         `json:"target"`
	// Want and Got are reached or closed; Got is untried where nothing could be tried.
	Want   string `json:"want"`
	Got    string `json:"got"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	open   bool
}

func (x *egressCheck) run(ctx context.Context, allowed, argv []string) error {
	o, err := x.options(allowed)
	if err != nil {
		return err
	}
	var data egressData
	err = interruptible(ctx, func(ctx context.Context) error {
		data = egressDataOf(breakout.Try(ctx, o))
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	failure := data.failure()
	switch {
	case len(argv) > 0 && data.Held:
		return x.replaceBy(argv, data, failure)
	case x.json && failure == nil:
		return x.print(data)
	case x.json:
		x.printFailure(failureOf(failure, ""), data)
		return exitStatus(statusOf(failure))
	}
	return errors.Join(x.printEgress(data), failure)
}

func (x *egressCheck) options(allowed []string) (o breakout.Options, err error) {
	const form = "write it as host:port, an IPv6 address in brackets"
	targets := make([]netguard.Target, len(allowed))
	for i, text := range allowed {
		if targets[i], err = netguard.ParseTarget(text); err != nil {
			return o, withHint(err, form)
		}
	}
	o.Allowed = targets
	if o.Host, err = netguard.ParseTarget(x.host); err != nil {
		return o, withHint(err, form)
	}
	for _, text := range x.addresses {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return o, usageError(form, "--address: %w", err)
		}
		o.Addresses = append(o.Addresses, at)
	}
	for flag, at := range map[string]struct {
		text string
		to   *netip.AddrPort
	}{"--inside": {x.inside, &o.Inside}, "--ipv6": {x.ipv6, &o.IPv6}, "--dns": {x.dns, &o.DNS}, "--udp": {x.udp, &o.UDP}} {
		if *at.to, err = netip.ParseAddrPort(at.text); err != nil {
			return o, usageError(form, "%s: %w", flag, err)
		}
	}
	if x.redirect != "" {
		if o.Redirect, err = url.Parse(x.redirect); err != nil || o.Redirect.Host == "" {
			return o, usageError("write it as https://host/path", "--redirect: %q is no URL", x.redirect)
		}
	}
	return o, x.setProxy(&o)
}

// setProxy takes the address out of the proxy's URL.
func (x *egressCheck) setProxy(o *breakout.Options) error {
	if x.proxy == "" {
		return nil
	}
	at, err := url.Parse(x.proxy)
	if err != nil || at.Scheme != "http" || at.Port() == "" {
		return usageError("write it as http://egress-proxy:3128", "--proxy: it is no URL of an HTTP proxy with its port")
	}
	o.Proxy = at.Host
	return nil
}

func egressDataOf(attempts []breakout.Attempt) egressData {
	data := egressData{Held: true}
	for _, a := range attempts {
		one := egressAttempt{
			Name: a.Name, Route: a.Route, Target: a.Target, Want: reached(a.Wanted), Got: reached(a.Reached),
			OK: a.Holds(), Detail: safetext.Line(a.Detail), open: a.Open(),
		}
		if a.Void {
			one.Got = "untried"
		}
		data.Held = data.Held && !a.Open()
		data.Attempts = append(data.Attempts, one)
	}
	return data
}

func reached(yes bool) string {
	if yes {
		return "reached"
	}
	return "closed"
}

// failure is the worst of what was found out.
func (d egressData) failure() error {
	var names []string
	for _, a := range d.Attempts {
		if !a.OK && (d.Held || a.open) {
			names = append(names, fmt.Sprintf("%s (%s, %s)", a.Name, a.Route, a.Target))
		}
	}
	list := strings.Join(names, ", ")
	switch {
	case !d.Held:
		return &durward.Error{
			Reason: durward.EgressOpen, Op: "egress", Err: errors.New(list),
			Hint: "take this container off every network that leads out but the egress proxy's",
		}
	case list != "":
		return &durward.Error{
			Reason: durward.ConnectFailed, Op: "egress", Err: errors.New(list),
			Hint: "see the log of the egress proxy, and egress_allowlist in the manifest",
		}
	}
	return nil
}

// replaceBy starts another program in the place of this one.
func (x *egressCheck) replaceBy(argv []string, data egressData, failure error) error {
	x.note("nothing is open that should not be, of %d ways that were tried", len(data.Attempts))
	if failure != nil {
		x.note("warning: not reached: %s", safetext.Line(failure.Error()))
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return &durward.Error{Reason: durward.ProgramNotFound, Op: "egress", Hint: "name it by its path", Err: err}
	}
	err = syscall.Exec(program, argv, os.Environ())
	return &durward.Error{Reason: durward.ProgramNotExecutable, Op: "egress", Err: fmt.Errorf("%s: %w", program, err)}
}

// printEgress prints what was tried. Why is for those who ask, and for when something is amiss.
func (x *egressCheck) printEgress(data egressData) error {
	rows := [][]string{{"ATTEMPT", "ROUTE", "TARGET", "WANT", "GOT", "RESULT", "DETAIL"}}
	why := x.verbose
	for _, a := range data.Attempts {
		result := "ok"
		if !a.OK {
			result, why = "FAIL", true
		}
		rows = append(rows, []string{a.Name, string(a.Route), a.Target, a.Want, a.Got, result, a.Detail})
	}
	for i := range rows {
		if !why {
			rows[i] = rows[i][:6]
		}
	}
	return x.table(rows)
}
