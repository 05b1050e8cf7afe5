package firecrawl

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/durward/durward/worker"
	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "fc-5ecret"

// A skippingClock does not wait: each sleep is over at once, and counts.
type skippingClock struct {
	mu    sync.Mutex
	now   time.Time       // guarded by mu
	slept []time.Duration // guarded by mu
}

func (c *skippingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *skippingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.slept = c.now.Add(d), append(c.slept, d)
	return ctx.Err()
}

// A setting is a tool, the API that it asks, and the time that a call has.
type setting struct {
	t     *testing.T
	api   *firecrawltest.API
	url   string
	tool  *Tool
	clock *skippingClock
	// left is the time of a call; zero means that it has no deadline.
	left time.Duration
	// ctx is that of the caller.
	ctx context.Context
}

// setup serves an API and makes a tool for it; zero options are filled in.
func setup(t *testing.T, api *firecrawltest.API, o Options) *setting {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	api.Key = key
	o.APIKey = key
	if o.BaseURL == "" {
		o.BaseURL = server.URL
	}
	s := &setting{t: t, api: api, url: server.URL, clock: &skippingClock{now: time.Now()}, left: time.Hour, ctx: t.Context()}
	tool, err := newTool(o, s.clock)
	if err != nil {
		t.Fatal(err)
	}
	s.tool = tool
	return s
}

// run makes one call.
func (s *setting) run(input string) (output, error) {
	s.t.Helper()
	c, ctx := worker.Call{Input: json.RawMessage(input)}, s.ctx
	if s.left != 0 {
		c.Deadline = s.clock.Now().Add(s.left)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.Deadline.Add(-worker.Reserve))
		defer cancel()
	}
	given, err := s.tool.Run(ctx, c)
	if err != nil {
		return output{}, err
	}
	return given.(output), nil
}

// must is run where nothing may go wrong.
func (s *setting) must(input string) output {
	s.t.Helper()
	o, err := s.run(input)
	if err != nil {
		s.t.Fatalf("%s: %v", input, err)
	}
	return o
}

// fails is run where it must, with this code, and gives what the caller is told.
func (s *setting) fails(input string, code worker.Code, retry worker.Retry) *worker.Error {
	s.t.Helper()
	o, err := s.run(input)
	var e *worker.Error
	if !errors.As(err, &e) {
		s.t.Fatalf("%s: got %v, %v, want %s", input, o, err, code)
	}
	if e.Code != code || e.Retry != retry {
		s.t.Errorf("%s: got %s (retry %d) %q %v, want %s (retry %d)", input, e.Code, e.Retry, e.Message, e.Details, code, retry)
	}
	return e
}

// received lists the requests as "METHOD path?query body".
func (s *setting) received() (list []string) {
	for _, r := range s.api.Requests() {
		line := r.Method + " " + r.Path
		if r.Query != "" {
			line += "?" + r.Query
		}
		if r.Body != "" {
			line += " " + r.Body
		}
		list = append(list, line)
	}
	return list
}

// count is how many requests of a method came.
func (s *setting) count(method string) (n int) {
	for _, r := range s.api.Requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}

func (s *setting) slept() []time.Duration {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	return append([]time.Duration(nil), s.clock.slept...)
}

// answers replies to requests of a method, one after the other, and then leaves them to
// the API.
func answers(method string, replies ...firecrawltest.Reply) func(firecrawltest.Request) *firecrawltest.Reply {
	return func(r firecrawltest.Request) *firecrawltest.Reply {
		if r.Method != method || len(replies) == 0 {
			return nil
		}
		next := replies[0]
		replies = replies[1:]
		return &next
	}
}

// always replies to all requests of a method.
func always(method string, reply firecrawltest.Reply) func(firecrawltest.Request) *firecrawltest.Reply {
	return func(r firecrawltest.Request) *firecrawltest.Reply {
		if r.Method != method {
			return nil
		}
		return &reply
	}
}

// pages makes up n documents.
func pages(n int) []map[string]any {
	list := make([]map[string]any, n)
	for i := range list {
		list[i] = firecrawltest.Page("/"+string(rune('a'+i%26)), "P")
	}
	return list
}

// with gives a made-up page that differs in some members.
func with(members map[string]any) map[string]any {
	page := firecrawltest.Page("/x", "X")
	maps.Copy(page, members)
	return page
}
