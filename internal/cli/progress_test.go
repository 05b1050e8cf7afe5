package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkThatTakesLongIsSeen lets time pass and looks at standard error.
func TestWorkThatTakesLongIsSeen(t *testing.T) {
	for _, test := range []struct {
		name     string
		terminal bool
		change   func(*program)
		takes    time.Duration
		want     string
	}{
		{"a short time at a terminal", true, nil, 1900 * time.Millisecond, ""},
		{"a long time at a terminal", true, nil, 3500 * time.Millisecond, "\r\x1b[Kdurward: at work, 2s\r\x1b[Kdurward: at work, 3s\r\x1b[K"},
		{"a terminal that obeys nothing", true, func(p *program) { p.env["TERM"] = "dumb" }, 11 * time.Second, "durward: at work, 10s\n"},
		{"a short time elsewhere", false, nil, 9 * time.Second, ""},
		{"a long time elsewhere", false, nil, 21 * time.Second, "durward: at work, 10s\ndurward: at work, 20s\n"},
		{"nobody wants to hear", true, func(p *program) { p.quiet = true }, time.Minute, ""},
		{"a program reads", false, func(p *program) { p.json = true }, time.Minute, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _, _ := start(t, home(t), "/", nil)
			var told bytes.Buffer
			p.stderr = newOutlet(&told)
			p.stderr.terminal = test.terminal
			if test.change != nil {
				test.change(p)
			}
			w := p.working("at work")
			time.Sleep(test.takes)
			w.done()
			w.done()
			if told.String() != test.want {
				t.Errorf("%s: %q, want %q", test.name, told.String(), test.want)
			}
		})
	}
}

// TestNoResultStandsBehindProgress writes a result while a line of progress is shown.
func TestNoResultStandsBehindProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := start(t, home(t), "/", nil)
		var screen bytes.Buffer
		p.stdout, p.stderr = newOutlet(&screen), newOutlet(&screen)
		p.stderr.terminal = true
		w := p.working("at work")
		out := w.before(p.stdout)
		time.Sleep(2500 * time.Millisecond)
		if _, err := out.Write([]byte("one\ntwo\n")); err != nil {
			t.Fatal(err)
		}
		w.done()
		if !strings.HasSuffix(screen.String(), "at work, 2s\r\x1b[Kone\ntwo\n") {
			t.Errorf("%q", screen.String())
		}
	})
}
