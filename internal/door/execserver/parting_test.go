package execserver

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
)

// A listener is a peer that notes what each write brings.
type listener struct{ writes [][]string }

func (l *listener) Write(_ context.Context, messages ...[]byte) error {
	var texts []string
	for _, m := range messages {
		texts = append(texts, string(m))
	}
	l.writes = append(l.writes, texts)
	return nil
}

func (l *listener) Read(context.Context) ([]byte, error) { return nil, io.EOF }
func (l *listener) Close() error                         { return nil }
func (l *listener) Caller() durward.Caller               { return durward.Caller{} }

// A finished session has ended by itself.
type finished struct{ durward.Session }

func (finished) Wait(context.Context) (durward.Result, error) { return durward.Result{}, nil }
func (finished) Kill()                                        {}

// The exit goes with the close where nothing can come between them, and else at once.
func TestTheExitComesBeforeTheClose(t *testing.T) {
	const exited, closed = `"method":"process/exited"`, `"method":"process/closed"`
	for _, test := range []struct {
		last   bool
		writes [][]string
	}{
		{true, [][]string{{exited, closed}}},
		{false, [][]string{{exited}, {closed}}},
	} {
		server := &Server{Options: Options{Limits: Limits{}.withDefaults()}, sessions: make(map[string]*session)}
		heard := &listener{}
		s, err := server.newSession(protocol.InitializeParams{}, durward.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		s.conn, s.hears = &conn{peer: heard, ctx: t.Context()}, true
		p := newProcess(s, protocol.StartParams{ProcessID: "p", Argv: []string{"x"}})
		if err := s.reserve(p); err != nil {
			t.Fatal(err)
		}
		p.call = finished{}
		close(p.started)
		close(p.told)
		p.Exited(durward.Exit{Seq: 1, Code: 3, Last: test.last})
		p.Ended(durward.Result{})
		same := func(got, want []string) bool { return slices.EqualFunc(got, want, strings.Contains) }
		if !slices.EqualFunc(heard.writes, test.writes, same) {
			t.Errorf("where the exit is the last: %v: %q", test.last, heard.writes)
		}
		if !isClosed(p.closed) || !strings.Contains(heard.writes[0][0], `"seq":1,"exitCode":3`) {
			t.Errorf("closed: %v; %s", isClosed(p.closed), heard.writes[0][0])
		}
		s.end(nil)
	}
}
