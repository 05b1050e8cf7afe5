//go:build linux && (amd64 || arm64)

package execserver_test

import (
	"fmt"
	"sync"
	"testing"
)

// Sessions have names of their own for their processes, and none reaches another's.
func TestProcessesOfSessions(t *testing.T) {
	s, m := serve(t), newMarker()
	a, b := greet(t, s.url), greet(t, s.url)
	a.starts(sh("p", "echo of a; exec sleep %s", m))
	a.starts(sh("only", "exec sleep %s", m))
	b.starts(sh("p", "echo of b; exec sleep %s", m))
	a.prints("p", "of a\n")
	b.prints("p", "of b\n")
	within(t, patience, "all sleep", func() bool { return m.sleeping() == 3 })
	b.refused(b.ask("process/read", map[string]any{"processId": "only"}), -32600)
	if b.terminates("only") || !b.terminates("p") {
		t.Error("who ends what is mixed up")
	}
	b.exits("p")
	if n := m.sleeping(); n != 2 {
		t.Errorf("%d of them sleep", n)
	}
	if got := len(b.of("only")); got != 0 {
		t.Errorf("%d notifications are somebody else's", got)
	}
	a.lives()
}

// What becomes of processes when their connection is lost.
func TestLostConnections(t *testing.T) {
	for _, test := range []struct {
		name   string
		flags  []string
		params map[string]any
		lives  bool
	}{
		{"a client that knows nothing of sessions", nil, map[string]any{"clientName": "x"}, false},
		{"a client that knows of sessions", nil, map[string]any{"clientName": "x", "resumeSessionId": nil}, true},
		{"with a grace for all", []string{"--session-grace", "60"}, map[string]any{"clientName": "x"}, true},
		{"with a grace for none", []string{"--session-grace", "0"}, map[string]any{"clientName": "x", "resumeSessionId": nil}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, m := serve(t, test.flags...), newMarker()
			p := dial(t, s.url)
			session := p.begins(test.params)
			p.starts(sh("p", "%s echo up; exec sleep %s", escapees(m), m))
			p.prints("p", "up")
			within(t, patience, "all run", func() bool { return m.alive() > escaped })
			p.drop()
			q := dial(t, s.url)
			if !test.lives {
				within(t, patience, "all are dead", func() bool { return m.alive() == 0 })
				q.refused(q.ask("initialize", map[string]any{"clientName": "x", "resumeSessionId": session}), -32600)
				q.begins(map[string]any{"clientName": "x"}) // the same connection may begin afresh
				return
			}
			q.resumes(session)
			q.starts(sh("q", "echo more"))
			q.all("q", "stdout")
			if m.alive() <= escaped {
				t.Error("processes died")
			}
			if !q.terminates("p") {
				t.Error("the process is not the session's any more")
			}
			q.exits("p")
			q.closed("p")
			within(t, patience, "all are dead", func() bool { return m.alive() == 0 })
		})
	}
}

// resumes takes a session over as soon as the server has noticed that it is free.
func (p *peer) resumes(session string) {
	p.t.Helper()
	params := map[string]any{"clientName": "x", "resumeSessionId": session}
	var result struct{ SessionID string }
	within(p.t, patience, "the session is free", func() bool {
		m := p.ask("initialize", params)
		if m.Error != nil {
			p.refused(m, -32010)
			return false
		}
		p.result(m, &result)
		return true
	})
	if result.SessionID != session {
		p.t.Errorf("session %s is called %s", session, result.SessionID)
	}
	p.says(`{"method":"initialized"}`)
}

// Of many that resume a session at once, one gets it.
func TestResumeRace(t *testing.T) {
	s := serve(t, "--session-grace", "80")
	holder := dial(t, s.url)
	session := holder.begins(map[string]any{"clientName": "x"})
	holder.starts(sh("p", "exec sleep 600"))
	for round := range 100 {
		holder.drop()
		holder = nil
		for holder == nil {
			var rivals [4]*peer
			var answers [4]message
			for i := range rivals {
				rivals[i] = dial(t, s.url)
			}
			var all sync.WaitGroup
			for i, p := range rivals {
				id := p.begin("initialize", map[string]any{"clientName": "x", "resumeSessionId": session})
				all.Go(func() { answers[i] = p.answer(id) })
			}
			all.Wait()
			for i, p := range rivals {
				switch {
				case answers[i].Error != nil:
					p.refused(answers[i], -32010)
					p.drop()
				case holder != nil:
					t.Fatalf("round %d: two have the session", round)
				default:
					holder = p
				}
			}
		}
	}
	holder.says(`{"method":"initialized"}`)
	if !holder.terminates("p") {
		t.Error("the process is gone")
	}
}

// What happens while nobody is connected is not told again, and can be read.
func TestWhatADetachedSessionMissed(t *testing.T) {
	s, dir := serve(t, "--session-grace", "80"), openDir(t)
	p := dial(t, s.url)
	session := p.begins(map[string]any{"clientName": "x"})
	p.starts(sh("p", "echo one; while [ ! -e %[1]s/go ]; do sleep .01; done; echo two; : > %[1]s/went; while [ ! -e %[1]s/on ]; do sleep .01; done; echo three", dir))
	p.prints("p", "one")
	p.drop()
	free := dial(t, s.url) // once this one had it, nobody is connected
	free.resumes(session)
	free.drop()
	touch(t, dir, "go")
	within(t, patience, "it goes on", func() bool { return exists(dir, "went") })
	q := dial(t, s.url)
	q.resumes(session)
	poll := q.begin("process/read", map[string]any{"processId": "p", "afterSeq": 1, "waitMs": 60000})
	var read struct{ Chunks []notice }
	q.result(q.answer(poll), &read)
	if len(read.Chunks) == 0 || string(read.Chunks[0].Chunk) != "two\n" || read.Chunks[0].Seq != 2 {
		t.Errorf("it reads %+v", read)
	}
	touch(t, dir, "on")
	q.closed("p")
	seq := 3
	for _, m := range q.of("p") {
		if m.Params.Seq != seq {
			t.Errorf("number %d comes where %d is next: %s", m.Params.Seq, seq, m.text)
		}
		seq++
	}
}

// A session that somebody holds is nobody else's, and its name cannot be guessed.
func TestSessionsAreCapabilities(t *testing.T) {
	s := serve(t, "--session-grace", "80")
	seen := map[string]bool{}
	for range 20 {
		p := dial(t, s.url)
		seen[p.begins(map[string]any{"clientName": "x"})] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 sessions have %d names", len(seen))
	}
	for session := range seen {
		q := dial(t, s.url)
		q.refused(q.ask("initialize", map[string]any{"clientName": "x", "resumeSessionId": session}), -32010)
		q.refused(q.ask("initialize", map[string]any{"clientName": "x", "resumeSessionId": fmt.Sprint(session[:35], "x")}), -32600)
		q.begins(map[string]any{"clientName": "x"})
		q.drop()
	}
}

// Whoever comes back to a session hears that it has done so before anything else.
func TestResumingIsAnsweredFirst(t *testing.T) {
	s, m := serve(t, "--session-grace", "80"), newMarker()
	p := dial(t, s.url)
	session := p.begins(map[string]any{"clientName": "x"})
	p.starts(sh("p", "while :; do echo x; done # %s", m))
	for range 30 {
		p.drop()
		p = dial(t, s.url)
		p.resumes(session)
		p.prints("p", "x\n")
		p.mu.Lock()
		heard := p.heard
		p.mu.Unlock()
		for _, h := range heard {
			if h.ID != nil && h.Error == nil {
				break
			}
			if h.Method != "" {
				t.Fatalf("%s comes before the answer", h.Method)
			}
		}
	}
	p.terminates("p")
}
