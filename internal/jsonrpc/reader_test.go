package jsonrpc_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/durward/durward/internal/jsonrpc"
)

// linesOf reads to the end; a line over the limit is "…".
func linesOf(t *testing.T, r io.Reader, limit int) []string {
	t.Helper()
	var lines []string
	in := jsonrpc.NewReader(r, limit)
	for {
		line, err := in.ReadLine()
		switch {
		case errors.Is(err, jsonrpc.ErrTooLong):
			lines = append(lines, "…")
		case errors.Is(err, io.EOF):
			if _, again := in.ReadLine(); !errors.Is(again, io.EOF) {
				t.Fatalf("after the end: %v", again)
			}
			return lines
		case err != nil:
			t.Fatal(err)
		default:
			lines = append(lines, string(line))
		}
	}
}

func TestLines(t *testing.T) {
	wide := strings.Repeat("x", 100_000)
	tests := []struct {
		name, input string
		limit       int
		want        []string
	}{
		{"none", "", 0, nil},
		{"one", "a\n", 0, []string{"a"}},
		{"no end", "a\nb", 0, []string{"a", "b"}},
		{"both ends", "a\r\nb\nc\r\n", 0, []string{"a", "b", "c"}},
		{"a return within", "a\rb\n\rc\n", 0, []string{"a\rb", "\rc"}},
		{"a return at the end", "a\r", 0, []string{"a"}},
		{"blanks", "\n\r\n \t \r\n\n a \n\n", 0, []string{" a "}},
		{"up to the limit", "abcd\nabcd\r\nabcde\nabcd\r\r\nabcd", 4, []string{"abcd", "abcd", "…", "…", "abcd"}},
		{"too long at the end", "abcde", 4, []string{"…"}},
		{"too long and blank", "     \na\n", 4, []string{"…", "a"}},
		{"beyond the buffer", wide + "\r\n" + wide + "\na\n", 0, []string{wide, wide, "a"}},
		{"too long beyond the buffer", wide + "x\r\n" + wide + "\r\n" + wide + wide + "\na\n", len(wide), []string{"…", wide, "…", "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":         strings.NewReader(tt.input),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(tt.input)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(tt.input)),
			} {
				if got := linesOf(t, r, tt.limit); !slices.Equal(got, tt.want) {
					t.Errorf("%s: %.60q, want %.60q", name, got, tt.want)
				}
			}
		})
	}
}

func TestABrokenStreamGivesNoHalfLine(t *testing.T) {
	broken := errors.New("broken")
	in := jsonrpc.NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken), strings.NewReader("c\n")), 0)
	if line, err := in.ReadLine(); string(line) != "a" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	for range 2 {
		if line, err := in.ReadLine(); line != nil || !errors.Is(err, broken) {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

// A read that has waited for too long takes nothing away.
func TestALineIsReadOnAfterADeadline(t *testing.T) {
	pieces := func(texts ...string) io.Reader {
		var all []io.Reader
		for _, text := range texts {
			all = append(all, strings.NewReader(text), iotest.ErrReader(os.ErrDeadlineExceeded))
		}
		return &stuttering{all}
	}
	in := jsonrpc.NewReader(pieces("fir", "", "st\nsec", "ond\n0123", "4567", "89\nlast"), 8)
	want := []string{"", "", "first", "", "second", "", "", "…", "", "last"}
	for i, want := range want {
		line, err := in.ReadLine()
		got := string(line)
		if errors.Is(err, jsonrpc.ErrTooLong) {
			got, err = "…", nil
			if head, tail := in.Ends(); string(head) != "0123456789\n" || !strings.HasSuffix(string(head), string(tail)) {
				t.Errorf("the ends are %q and %q", head, tail)
			}
		}
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%d: %q, %v", i, got, err)
		}
	}
}

// A stuttering reader gives the error of each reader and goes on with the next one.
type stuttering struct{ from []io.Reader }

func (s *stuttering) Read(p []byte) (int, error) {
	for len(s.from) > 0 {
		n, err := s.from[0].Read(p)
		if errors.Is(err, io.EOF) {
			s.from = s.from[1:]
			continue
		}
		if err != nil {
			s.from = s.from[1:]
		}
		return n, err
	}
	return 0, io.EOF
}

// A line is the caller's: the next one does not overwrite it.
func TestALineStays(t *testing.T) {
	in := jsonrpc.NewReader(strings.NewReader("first\nother\n"), 0)
	first, _ := in.ReadLine()
	if _, err := in.ReadLine(); err != nil || string(first) != "first" {
		t.Fatalf("%q, %v", first, err)
	}
}

func TestALongLineCostsNoMemory(t *testing.T) {
	const limit = 1 << 20
	long := func() io.Reader { return io.LimitReader(repeat('x'), 64*limit) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := linesOf(t, io.MultiReader(long(), strings.NewReader("\n"), long(), strings.NewReader("\na\n")), limit)
	runtime.ReadMemStats(&after)
	if !slices.Equal(lines, []string{"…", "…", "a"}) {
		t.Fatalf("%.60q", lines)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*limit {
		t.Errorf("%d bytes for a limit of %d", used, limit)
	}
}

func TestALineWithinTheLimitIsNotHeldTwice(t *testing.T) {
	const limit = 1 << 20
	in := jsonrpc.NewReader(io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("x"), limit)), strings.NewReader("\na\n")), limit)
	line, err := in.ReadLine()
	if err != nil || len(line) != limit || cap(line) > limit+2 {
		t.Fatalf("%d bytes in %d, %v", len(line), cap(line), err)
	}
	if line, err = in.ReadLine(); err != nil || cap(line) > 16 {
		t.Fatalf("%d bytes in %d, %v", len(line), cap(line), err)
	}
}

type repeat byte

func (c repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

// Of a line that is too long both ends are there, whether it was one before or behind the
// buffer's end that made it so.
func TestEndsOfALineThatIsTooLong(t *testing.T) {
	middle := strings.Repeat("x", 100_000)
	for _, limit := range []int{4, 5000, 40_000, 100_000} {
		in := jsonrpc.NewReader(strings.NewReader("ok\n{\"id\":1"+middle+"\"id\":2}\nok\n"), limit)
		for _, want := range []error{nil, jsonrpc.ErrTooLong, nil} {
			if _, err := in.ReadLine(); err != want {
				t.Fatalf("limit %d: %v", limit, err)
			}
		}
		head, tail := in.Ends()
		if !strings.HasPrefix(string(head), `{"id":1xx`) || !strings.HasSuffix(strings.TrimSpace(string(tail)), `xx"id":2}`) || len(head) != 4096 || len(tail) != 4096 {
			t.Errorf("limit %d: %.20q and %.20q, %d and %d bytes", limit, head, tail[max(0, len(tail)-20):], len(head), len(tail))
		}
	}
	in := jsonrpc.NewReader(strings.NewReader("abcdef"), 5)
	_, err := in.ReadLine()
	if head, tail := in.Ends(); err != jsonrpc.ErrTooLong || string(head) != "abcdef" || string(tail) != "abcdef" {
		t.Errorf("%v, %q, %q", err, head, tail)
	}
}
