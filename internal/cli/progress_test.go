package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
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

// TestNoProgressComesIntoALine leaves half of a line standing for a while.
func TestNoProgressComesIntoALine(t *testing.T) {
	for _, test := range []struct {
		name   string
		beside bool
		want   string
	}{
		{"both to one terminal", true, "half line\n\r\x1b[Kdurward: at work, 6s\r\x1b[K"},
		{"the result elsewhere", false, "\r\x1b[Kdurward: at work, 2s\r\x1b[Kdurward: at work, 3s\r\x1b[Kdurward: at work, 4s\r\x1b[Kdurward: at work, 5s\r\x1b[K\r\x1b[Kdurward: at work, 6s\r\x1b[K"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _, _ := start(t, home(t), "/", nil)
			var screen, file bytes.Buffer
			p.stdout, p.stderr = newOutlet(&file), newOutlet(&screen)
			if test.beside {
				p.stdout = newOutlet(&screen)
			}
			p.stdout.terminal, p.stderr.terminal = test.beside, true
			w := p.working("at work")
			out := w.before(p.stdout)
			for _, part := range []string{"half", " line\n"} {
				if _, err := out.Write([]byte(part)); err != nil {
					t.Fatal(err)
				}
				if part == "half" {
					time.Sleep(5500 * time.Millisecond)
				}
			}
			time.Sleep(time.Second)
			w.done()
			if screen.String() != test.want {
				t.Errorf("%s: %q, want %q", test.name, screen.String(), test.want)
			}
		})
	}
}

// TestReadingALongLogIsSeen takes its time before the first record and between it and the
// next one.
func TestReadingALongLogIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := start(t, home(t), "/", nil)
		var screen bytes.Buffer
		p.stdout, p.stderr = newOutlet(&screen), newOutlet(&screen)
		p.stdout.terminal, p.stderr.terminal = true, true
		slow := func(yield func(audit.Entry, error) bool) {
			time.Sleep(2500 * time.Millisecond)
			_ = yield(audit.Entry{}, &audit.Problem{File: "odd", Why: "it is odd"}) &&
				yield(audit.Entry{Record: audit.Record{Phase: audit.Event}}, nil)
			time.Sleep(time.Hour)
		}
		if err := p.list(slow, p.working("reading the log")); durward.ReasonOf(err) != durward.AuditBroken {
			t.Error(err)
		}
		if got, want := screen.String(), "\r\x1b[Kdurward: reading the log, 2s\r\x1b[Kodd: it is odd\nTIME "; !strings.HasPrefix(got, want) || strings.Count(got, "reading") != 1 {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
