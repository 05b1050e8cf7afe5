package wsedge_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/wsedge"
)

var local = durward.Caller{Name: "local:1000", Method: "process"}

func TestLines(t *testing.T) {
	const limit = 64
	long := strings.Repeat("x", limit-1)
	for _, test := range []struct {
		name, in string
		want     []string
		reason   durward.Reason
	}{
		{"none", "", nil, ""},
		{"two", "{}\n[]\n", []string{"{}", "[]"}, ""},
		{"no last end", "{}\n[]", []string{"{}", "[]"}, ""},
		{"ends of Windows", "{}\r\n[]\r\n", []string{"{}", "[]"}, ""},
		{"blank ones", "\n \r\n\t\n{}\n\n", []string{"{}"}, ""},
		{"text", "\"€\"\n", []string{`"€"`}, ""},
		{"as long as may be", long + "\n", []string{long}, ""},
		{"too long", "{}\n" + long + "x\n{}\n", []string{"{}"}, durward.BadRequest},
		{"too long without an end", long + "x", nil, durward.BadRequest},
		{"no text", "{}\n\"\xff\"\n{}\n", []string{"{}"}, durward.BadRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := wsedge.Stdio(strings.NewReader(test.in), io.Discard, limit, local)
			for _, want := range test.want {
				if got, err := c.Read(t.Context()); err != nil || string(got) != want {
					t.Fatalf("%q, %v, want %q", got, err, want)
				}
			}
			got, err := c.Read(t.Context())
			if err == nil || durward.ReasonOf(err) != test.reason || test.reason == "" && !errors.Is(err, io.EOF) {
				t.Fatalf("%q, %v", got, err)
			}
			if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			// Whoever says nothing more may still listen; whoever says nonsense may not.
			if err := c.Write(t.Context(), []byte("{}")); (err == nil) != (test.reason == "") {
				t.Errorf("a write after the end gives %v", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := c.Write(t.Context(), []byte("{}")); err == nil {
				t.Error("a write succeeded after Close")
			}
		})
	}
}

func TestStdioIsAConn(t *testing.T) {
	c := wsedge.Stdio(strings.NewReader(""), io.Discard, 0, local)
	if c.Caller() != local || c.Remote() != "stdio" {
		t.Errorf("%v %s", c.Caller(), c.Remote())
	}
}

// A connection that is closed sends nothing, whoever else might write.
func TestNothingIsSentAfterClose(t *testing.T) {
	var sent counted
	c := wsedge.Stdio(strings.NewReader(""), &sent, 0, local)
	noError(t, c.Close())
	for range 100_000 {
		if err := c.Write(t.Context(), []byte("{}")); err == nil {
			t.Fatal("a write succeeded after Close")
		}
	}
	if n := sent.Load(); n > 0 {
		t.Errorf("%d messages were sent after Close", n)
	}
}

// Counted writes go nowhere.
type counted struct{ atomic.Int64 }

func (c *counted) Write(p []byte) (int, error) {
	c.Add(1)
	return len(p), nil
}

// TestLinesOfManyWriters come out whole.
func TestLinesOfManyWriters(t *testing.T) {
	const writers, each = 8, 100
	var out bytes.Buffer
	c := wsedge.Stdio(strings.NewReader(""), &out, 0, local)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for range each {
				if err := c.Write(t.Context(), bytes.Repeat([]byte{'a' + byte(w)}, 1000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	seen := map[string]int{}
	for line := range strings.Lines(out.String()) {
		seen[line]++
	}
	for w := range writers {
		if n := seen[strings.Repeat(string(rune('a'+w)), 1000)+"\n"]; n != each {
			t.Errorf("writer %d: %d lines of %d", w, n, each)
		}
	}
}

// TestStdioEnds makes Read and Write return, though the streams do not move.
func TestStdioEnds(t *testing.T) {
	for name, want := range map[string]error{"by Close": io.EOF, "by the context of Read": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			in, typing := io.Pipe()
			reader, out := io.Pipe()
			c := wsedge.Stdio(in, out, 0, local)
			reading, cancel := context.WithCancel(t.Context())
			defer cancel()
			var waiting sync.WaitGroup
			for range 3 {
				waiting.Go(func() {
					if err := c.Write(t.Context(), []byte("{}")); err == nil {
						t.Error("a write succeeded")
					}
				})
			}
			waiting.Go(func() {
				if _, err := c.Read(reading); !errors.Is(err, want) {
					t.Error(err)
				}
			})
			if _, err := reader.Read([]byte{0}); err != nil { // a write is under way
				t.Error(err)
			}
			if errors.Is(want, io.EOF) {
				noError(t, c.Close())
			} else {
				cancel()
			}
			waiting.Wait()
			noError(t, c.Close())
			typing.Close()
			reader.Close()
		})
	}
}

// TestStdioGoesThereAndBack with a message of 8 MiB.
func TestStdioGoesThereAndBack(t *testing.T) {
	in, typing := io.Pipe()
	reader, out := io.Pipe()
	c := wsedge.Stdio(in, out, 0, local)
	var running sync.WaitGroup
	running.Go(func() { echo(t.Context(), c) })
	line := strings.Repeat("0123456789abcdef", 1<<19) + "\n"
	running.Go(func() { _, _ = io.WriteString(typing, line) })
	got, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil || got != line {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	typing.Close()
	running.Wait()
}
