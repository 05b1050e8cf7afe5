package httpreq

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"math"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/netguard"
)

// A prepared request has been judged as far as it can be without a lookup.
type prepared struct {
	engine *Engine
	first  request
	follow bool          // redirects
	time   time.Duration // for all of the call; zero is any
	// granted has to allow what the engine allows. Nil allows it.
	granted *netguard.Allowlist
	keep    durward.Keep
	limits  durward.Limits
}

// Close has nothing to free.
func (p *prepared) Close() error { return nil }

// Run gives the answer as a whole.
func (p *prepared) Run(ctx context.Context) (durward.Result, error) {
	var output json.RawMessage
	result, err := p.carryOut(ctx, func(a *answer, body *measured) (err error) {
		output, err = p.whole(a, body)
		return err
	})
	if err == nil {
		result.Output = output
	}
	return result, err
}

// carryOut sends the requests and hands the answer to take.
func (p *prepared) carryOut(ctx context.Context, take func(*answer, *measured) error) (durward.Result, error) {
	if p.time > 0 {
		limited, cancel := context.WithTimeout(ctx, p.time)
		defer cancel()
		ctx = limited
	}
	if ctx.Err() != nil {
		return durward.Result{}, durward.Ended(ctx, op)
	}
	l := newLedger()
	result := durward.Result{Network: &l.sum}
	w, a, err := p.travel(ctx, l)
	if err != nil {
		return result, explain(ctx, err)
	}
	body := &measured{from: a.body, sum: sha256.New(), limit: positive(p.limits.OutputHard)}
	err = take(a, body)
	w.close(l)
	result.Content = &durward.Content{Bytes: body.total, SHA256: hex.EncodeToString(body.sum.Sum(nil))}
	if err != nil {
		return result, explain(ctx, err)
	}
	return result, nil
}

// travel goes from the first request to the answer that counts.
func (p *prepared) travel(ctx context.Context, l *ledger) (*wire, *answer, error) {
	r := p.first
	for redirects := 0; ; redirects++ {
		w, a, err := p.send(ctx, r, l)
		if err != nil {
			return nil, nil, err
		}
		next, again, err := p.next(r, a)
		if err == nil && !again {
			return w, a, nil
		}
		w.close(l)
		switch {
		case err != nil:
			return nil, nil, err
		case redirects == maxRedirects:
			return nil, nil, errRedirects
		}
		r = next
	}
}

// next gives the request that is to follow an answer, if one is.
func (p *prepared) next(r request, a *answer) (request, bool, error) {
	if !p.follow {
		return request{}, false, nil
	}
	return r.redirected(a)
}

// send judges a request, sends it, and reads the head of the answer.
func (p *prepared) send(ctx context.Context, r request, l *ledger) (*wire, *answer, error) {
	err := p.permit(r.target)
	var w *wire
	if err == nil {
		w, err = p.dial(ctx, r)
		err = refused(err)
	}
	l.note(r.target, err)
	if err != nil {
		return nil, nil, err
	}
	a, err := w.exchange(ctx, p, r)
	if err != nil {
		w.close(l)
		return nil, nil, err
	}
	return w, a, nil
}

// A reply is the form of an answer. None of its lists is nil.
type reply struct {
	Status  int     `json:"status"`
	Headers []field `json:"headers"`
	Body    []byte  `json:"bodyBase64"`
}

// form gives an answer with this body its form.
func form(a *answer, body []byte) (json.RawMessage, error) {
	text, err := jsonx.Marshal(reply{a.status, a.fields, body})
	return bytes.TrimSuffix(text, []byte("\n")), err
}

// whole takes a body in. The limit is for the form of all of it.
func (p *prepared) whole(a *answer, body *measured) (json.RawMessage, error) {
	head, err := form(a, []byte{})
	if err != nil {
		return nil, err
	}
	limit := positive(p.limits.Output)
	room := limit - int64(len(head))
	if room < 0 {
		return nil, tooLarge(limit)
	}
	body.limit = min(body.limit, maxBodyBytes, room/4*3)
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return form(a, content)
}

// positive gives a limit that may be compared; a negative one is none.
func positive(limit int64) int64 {
	if limit < 0 {
		return math.MaxInt64
	}
	return limit
}

// A measured body counts and sums up what is read of it.
type measured struct {
	from  io.Reader
	sum   hash.Hash
	total int64
	limit int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.total += int64(n)
	m.sum.Write(p[:n])
	if m.total > m.limit {
		return 0, tooLarge(m.limit)
	}
	return n, err
}
