package hostfs

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
)

// watch opens a session that waits.
func (s *scene) watch(t *testing.T, input string) durward.Session {
	t.Helper()
	tools := Tools()
	p, err := s.engine.Prepare(t.Context(), tools[len(tools)-1], durward.Call{Input: json.RawMessage(strings.ReplaceAll(input, "$", s.root))}, s.grant)
	must(t, err)
	session, err := p.(core.Opener).Open(t.Context(), nil)
	must(t, err)
	must(t, p.Close())
	t.Cleanup(func() { must(t, session.Close()) })
	return session
}

// over reports whether a session has ended.
func over(t *testing.T, session durward.Session) bool {
	t.Helper()
	page, err := session.Read(t.Context(), 0, 0, 0)
	must(t, err)
	return page.Ended
}

func TestWatching(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *scene){
		"a file appears":                 func(t *testing.T, s *scene) { s.put(t, "none", "") },
		"it appears with its directory":  func(t *testing.T, s *scene) { s.put(t, "no/where", "") },
		"what is present is written to":  func(t *testing.T, s *scene) { s.put(t, "ws/a.txt", "changed") },
		"what is present is removed":     func(t *testing.T, s *scene) { must(t, os.Remove(s.path("ws/a.txt"))) },
		"what is present is another one": func(t *testing.T, s *scene) { must(t, os.Rename(s.path("out/secret.txt"), s.path("ws/a.txt"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			session := s.watch(t, `{"missing":["file://$/none","$/no/where"],"present":"$/ws/a.txt"}`)
			if over(t, session) {
				t.Fatal("it is over before anything has changed")
			}
			change(t, s)
			if _, err := session.Wait(t.Context()); err != nil || !over(t, session) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestThereIsNothingToWaitFor(t *testing.T) {
	s := newScene(t)
	for _, input := range []string{
		`{"missing":["$/none","$/ws/a.txt"]}`,
		`{"missing":["$/none"],"present":"$/gone"}`,
	} {
		if !over(t, s.watch(t, input)) {
			t.Errorf("%s is waited for", input)
		}
	}
	// What may not be read is not there, and does not appear.
	s.grant = s.narrow()
	if over(t, s.watch(t, `{"missing":["$/out/secret.txt"],"present":null}`)) {
		t.Error("a file is noticed that may not be read")
	}
}

func TestAWatchIsCancelled(t *testing.T) {
	s := newScene(t)
	session := s.watch(t, `{"missing":["$/none"]}`)
	session.Cancel()
	if _, err := session.Wait(context.Background()); durward.KindOf(err) != durward.Cancelled {
		t.Errorf("it ended with %v", err)
	}
	if _, err := session.Write(t.Context(), []byte("x")); durward.ReasonOf(err) != durward.NotSupported {
		t.Errorf("writing to it: %v", err)
	}
}
