// Package httpreq sends one HTTP request for a caller, to hosts that the operator named.
//
// The input of its tool is an object, of which method and url are needed; its output has
// what was answered:
//
//	{"method":"POST","url":"https://api.example.com/v1","headers":[{"name":"Accept","value":"text/plain"}],
//	 "bodyBase64":"aGk=","timeoutMs":5000,"redirectPolicy":"follow"}
//	{"status":200,"headers":[{"name":"content-type","value":"text/plain"}],"bodyBase64":"b2s="}
//
// Members that are not shown are ignored. The headers of an answer stand in the order in
// which they came, repeats among them, their names in lower case; those of 1xx answers and
// those behind a body are left out. A body is what it was before it was cut into chunks for
// the way, and is not unpacked. Bytes of a header that are no UTF-8 become U+FFFD.
//
// A call that goes on as a session gives the same object without a body as one chunk of
// stream [durward.Head], and then the body in chunks of stream [durward.Body], as it comes.
// It reads no further while its events are being told. It ends with an error where the body
// is cut short.
//
// The headers of a request are sent in their order. What says how a message travels is
// decided here: such headers, Content-Length among them, are dropped, and Host may say
// nothing but where the URL leads. Nothing is added but Host, Connection and the length of
// the body.
//
// Where redirects are followed each is a request like the first, and goes nowhere that was
// not named. After 301, 302 and 303 what was neither GET nor HEAD is a GET without its body;
// Authorization and Cookie do not leave their origin. There are no cookies, no proxy, no
// stored credentials, and no HTTP/2.
package httpreq

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/netguard"
)

// Name is what tools of the engine name it by.
const Name = "httpreq"

// Tool is the one tool of the engine.
const Tool durward.ToolID = "http/request"

// Tools lists it.
func Tools() []durward.Tool {
	return []durward.Tool{{
		ID: Tool, Title: "HTTP request", Doc: "Sends an HTTP request to a host that the operator named.",
		Effect: durward.Effect{OpenWorld: true}, Engine: Name,
	}}
}

const (
	op = "http.request"
	// rule names what refuses hosts.
	rule = "allow-net"
	// maxBodyBytes bounds the body of an answer that is given as a whole.
	maxBodyBytes = 64 << 20
	// maxHeadBytes bounds what comes before the body of an answer.
	maxHeadBytes = 1 << 20
	// maxRedirects is how many are followed in one call.
	maxRedirects = 10
)

// Options configure an Engine. The zero value lets no request out.
type Options struct {
	// Allow lists what may be reached, as "host:port". A name may stand for the names below
	// it, as "*.host:port", and permits public addresses alone. An address permits itself.
	Allow []string
	// Resolver finds the addresses of a name. Nil means the system's.
	Resolver netguard.Resolver
	// Roots are the authorities that servers have to be vouched for by. Nil means the
	// system's.
	Roots *x509.CertPool
}

// An Engine sends requests. It is safe for concurrent use and holds nothing open.
//
// Whoever makes one permits its tool to reach the network: a grant that gives commands none,
// or their own loopback, is about the sockets of commands and does not stop it. A grant with
// an allowlist does narrow it: every request then has to be allowed by both.
type Engine struct {
	dialer netguard.Dialer
	roots  *x509.CertPool
}

// New makes an Engine. An entry that is wrong has reason BadHost.
func New(o Options) (*Engine, error) {
	allow, err := netguard.ParseAllow(o.Allow)
	if err != nil {
		return nil, err
	}
	return &Engine{dialer: netguard.Dialer{Allow: allow, Resolver: o.Resolver}, roots: o.Roots}, nil
}

// Enforces lists what a request holds by itself: it touches no file and reads no variable,
// goes where both the engine and the grant let it, and counts what it takes in.
func (e *Engine) Enforces() []durward.GrantField {
	return []durward.GrantField{durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldLimits}
}

// Prepare reads the input and refuses what can be refused without a lookup.
func (e *Engine) Prepare(_ context.Context, _ durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	p, err := parseInput(c.Input)
	if err != nil {
		return nil, err
	}
	p.engine, p.keep, p.limits = e, g.Keep, g.Limits.WithDefaults()
	if g.Network.Mode == durward.NetAllowlist {
		list, err := netguard.ParseAllow(g.Network.Allow)
		if err != nil {
			return nil, err
		}
		p.granted = &list
	}
	if err := p.permit(p.first.target); err != nil {
		return nil, err
	}
	return p, nil
}

// permit refuses what may not be reached, as far as can be told without a lookup.
func (p *prepared) permit(t netguard.Target) error {
	err := p.engine.dialer.Check(t)
	if err != nil {
		return refused(err)
	}
	if p.granted == nil {
		return nil
	}
	if _, ok := p.granted.Match(t.Host, t.Port); !ok {
		return refused(hostDenied(fmt.Errorf("the grant does not allow %s", t)))
	}
	return nil
}

// refused names the rule behind a refusal; any other error stays as it is.
func refused(err error) error {
	if durward.KindOf(err) != durward.Denied {
		return err
	}
	return &durward.Error{
		Reason: durward.ReasonOf(err), Op: op, Rule: rule, Err: err,
		Hint: "have the operator name the host and its port; an address that is not public is named itself",
	}
}

func hostDenied(err error) error {
	return &durward.Error{Reason: durward.HostDenied, Op: op, Rule: rule, Err: err}
}

func badCall(err error) error {
	return &durward.Error{Reason: durward.BadCall, Op: op, Hint: "send method, url and, if need be, headers and bodyBase64", Err: err}
}

// explain gives what stopped a request its reason.
func explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return durward.Ended(ctx, op)
	case durward.ReasonOf(err) != "":
		return err
	}
	return &durward.Error{Reason: durward.ConnectFailed, Op: op, Retry: true, Err: err}
}

var errRedirects = fmt.Errorf("there were more than %d redirects", maxRedirects)

func tooLarge(limit int64) error {
	return &durward.Error{
		Reason: durward.OutputTooLarge, Op: op, Rule: "limits.output", Hint: "ask for less at once, or as a stream",
		Err: fmt.Errorf("the answer is larger than %d bytes", limit),
	}
}

var errUpgrade = errors.New("the server speaks another protocol, unasked")
