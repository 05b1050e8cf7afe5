//go:build linux || darwin

package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
	"github.com/durward/durward/internal/pathguard"
	"github.com/durward/durward/internal/sandbox/confined"
)

// A shelf is a folder with its guard and a keeper.
type shelf struct {
	dir    string
	guard  *pathguard.Guard
	keeper *confined.Keeper
}

func newShelf(t testing.TB, zones ...pathguard.Zone) *shelf {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for i := range zones {
		zones[i].Path = filepath.Join(dir, zones[i].Path)
	}
	s := &shelf{dir, guard(t, []string{dir}, pathguard.Options{Start: dir, Zones: zones}), confined.New()}
	t.Cleanup(func() { must(t, s.keeper.Close()) })
	return s
}

func (s *shelf) put(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
}

func (s *shelf) read(t testing.TB, input string) (readAnswer, error) {
	t.Helper()
	return s.readTo(t, 10, input)
}

// readTo reads where no window ends behind reach.
func (s *shelf) readTo(t testing.TB, reach int64, input string) (answer readAnswer, err error) {
	t.Helper()
	result, err := call(t, s.keeper, Spec{Guard: s.guard, MaxReadBytes: reach}, free, input)
	if err != nil {
		return answer, err
	}
	must(t, json.Unmarshal(result.Output, &answer))
	if result.Content == nil || *result.Content != (durward.Content{Bytes: int64(answer.BytesRead), SHA256: answer.SHA256}) {
		t.Errorf("the record tells of %+v, the answer of %+v", result.Content, answer)
	}
	return answer, nil
}

func TestWindows(t *testing.T) {
	s := newShelf(t)
	s.put(t, "digits", "0123456789abcdef")
	s.put(t, "empty", "")
	s.put(t, "short", "0123")
	for _, tt := range []struct{ name, members, want string }{
		{"digits", ``, "0123456789"},
		{"digits", `,"offset":3`, "3456789"},
		{"digits", `,"length":3`, "012"},
		{"digits", `,"offset":3,"length":3`, "345"},
		{"digits", `,"offset":8,"length":5`, "89"},
		{"digits", `,"offset":10`, ""},
		{"digits", `,"offset":12,"length":2`, ""},
		{"digits", `,"offset":9223372036854775807`, ""},
		{"digits", `,"offset":1,"length":9223372036854775807`, "123456789"},
		{"digits", `,"offset":9223372036854775807,"length":9223372036854775807`, ""},
		{"digits", `,"offset":1e300`, ""},
		{"digits", `,"offset":2.0,"length":1e0`, "2"},
		{"digits", `,"length":99999999999999999999999999`, "0123456789"},
		{"digits", `,"length":0`, ""},
		{"short", ``, "0123"},
		{"short", `,"offset":4`, ""},
		{"short", `,"offset":2,"length":100`, "23"},
		{"empty", ``, ""},
	} {
		got, err := s.read(t, fmt.Sprintf(`{"path":%q%s}`, tt.name, tt.members))
		if want := (readAnswer{tt.want, len(tt.want), digest([]byte(tt.want))}); got != want || err != nil {
			t.Errorf("%s%s: %+v, %v; want %q", tt.name, tt.members, got, err, tt.want)
		}
	}
	if got := digest(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("the digest of nothing is %s", got)
	}
}

func TestText(t *testing.T) {
	s := newShelf(t)
	for name, text := range map[string]string{
		"euro": "1€2€", "cut": "ab\xe2\x82", "bad": "a\xffb", "bom": "\ufeffa\r\n", "four": "a😀b", "late": "0123456789\xff", "html": "<&>\u2028",
		"lone": "a\x80", "over": "\xc0\xafabcdef", "start": "\xf0\x9f\x98", "nul": "a\x00b",
	} {
		s.put(t, name, text)
	}
	const refused = "REFUSED"
	for _, tt := range []struct{ name, members, want string }{
		{"euro", ``, "1€2€"},
		{"euro", `,"length":4`, "1€"},
		{"euro", `,"length":3`, "1"},
		{"euro", `,"length":2`, "1"},
		{"euro", `,"offset":1,"length":2`, ""},
		{"euro", `,"offset":1,"length":3`, "€"},
		{"euro", `,"offset":2`, refused},
		{"euro", `,"offset":2,"length":1`, refused},
		{"four", `,"length":4`, "a"},
		{"four", `,"length":5`, "a😀"},
		{"cut", ``, refused},
		{"cut", `,"length":3`, "ab"},
		{"cut", `,"length":4`, refused},
		{"start", ``, refused},
		{"start", `,"length":2`, ""},
		{"bad", ``, refused},
		{"bad", `,"length":2`, refused},
		{"bad", `,"length":1`, "a"},
		{"lone", ``, refused},
		{"over", ``, refused},
		{"over", `,"length":1`, refused},
		{"late", ``, "0123456789"},
		{"bom", ``, "\ufeffa\r\n"},
		{"html", ``, "<&>\u2028"},
		{"nul", ``, "a\x00b"},
	} {
		got, err := s.read(t, fmt.Sprintf(`{"path":%q%s}`, tt.name, tt.members))
		if tt.want == refused {
			if e := durward.AsError(err); e == nil || e.Reason != durward.NotUTF8 || e.Path != tt.name || !strings.Contains(e.Hint, "base64") {
				t.Errorf("%s%s: %+v, %v; want a refusal", tt.name, tt.members, got, err)
			}
			continue
		}
		if want := (readAnswer{tt.want, len(tt.want), digest([]byte(tt.want))}); got != want || err != nil {
			t.Errorf("%s%s: %+v, %v; want %q", tt.name, tt.members, got, err, tt.want)
		}
	}
	got, err := s.read(t, `{"path":"bad","encoding":"base64","length":2}`)
	if want := (readAnswer{"Yf8=", 2, digest([]byte("a\xff"))}); got != want || err != nil {
		t.Errorf("as base64: %+v, %v", got, err)
	}
	result, err := call(t, s.keeper, Spec{Guard: s.guard}, free, `{"path":"html"}`)
	if err != nil || !strings.HasPrefix(string(result.Output), `{"data":"<&>`) || strings.HasSuffix(string(result.Output), "\n") {
		t.Errorf("the output is %q, %v", result.Output, err)
	}
}

func TestAnAnswerOverTheLimitIsRefused(t *testing.T) {
	s := newShelf(t)
	s.put(t, "long", strings.Repeat("x", 200))
	s.put(t, "quotes", strings.Repeat(`"`, 70))
	g := free
	g.Limits.Output = 190
	for _, name := range []string{"long", "quotes"} {
		_, err := call(t, s.keeper, Spec{Guard: s.guard}, g, fmt.Sprintf(`{"path":%q}`, name))
		if durward.ReasonOf(err) != durward.OutputTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	g.Limits.Output = durward.Unlimited
	if _, err := call(t, s.keeper, Spec{Guard: s.guard}, g, `{"path":"long"}`); err != nil {
		t.Error(err)
	}
}

// What was prepared is read, whatever has taken its name; what has become shorter ends
// earlier.
func TestTheFileThatWasOpenedIsRead(t *testing.T) {
	s := newShelf(t)
	s.put(t, "a", "before")
	prepare := func() interface {
		Run(context.Context) (durward.Result, error)
		Close() error
	} {
		p, err := New(s.keeper).Prepare(t.Context(), durward.Tool{Spec: Spec{Guard: s.guard}}, durward.Call{Input: json.RawMessage(`{"path":"a"}`)}, free)
		must(t, err)
		return p
	}
	p := prepare()
	defer p.Close()
	s.put(t, "b", "after")
	must(t, os.Rename(filepath.Join(s.dir, "b"), filepath.Join(s.dir, "a")))
	result, err := p.Run(t.Context())
	must(t, err)
	if !strings.Contains(string(result.Output), `"before"`) {
		t.Errorf("the output is %s", result.Output)
	}
	shrunk := prepare()
	defer shrunk.Close()
	must(t, os.Truncate(filepath.Join(s.dir, "a"), 2))
	if result, err = shrunk.Run(t.Context()); err != nil || !strings.Contains(string(result.Output), `"af"`) {
		t.Errorf("the output is %s, %v", result.Output, err)
	}
}

// Short reads go on, and errors end the work.
func TestAWindowIsFilled(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	w := windowOf(5, 900_000, 1<<30, int64(len(text)))
	got, err := w.read(t.Context(), strings.NewReader(text))
	if string(got) != text[5:900_005] || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	broken := errors.New("broken")
	if _, err := w.read(t.Context(), at{iotest.ErrReader(broken)}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.read(ctx, strings.NewReader(text)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// at reads anywhere as if from the start.
type at struct {
	from interface{ Read([]byte) (int, error) }
}

func (a at) ReadAt(p []byte, _ int64) (int, error) { return a.from.Read(p) }

func FuzzWholeRunes(f *testing.F) {
	f.Add("1€2€", 3)
	f.Add("a😀b", 4)
	f.Add("\xf0\x9f", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > len(text) {
			return
		}
		cut := wholeRunes([]byte(text[:n]))
		if len(cut) < n-3 || text[:len(cut)] != string(cut) {
			t.Fatalf("%q cut at %d is %q", text, n, cut)
		}
		if strings.ToValidUTF8(text, "") == text && strings.ToValidUTF8(string(cut), "") != string(cut) {
			t.Fatalf("%q cut at %d is %q", text, n, cut)
		}
	})
}

// An answer is written as encoding/json would.
func TestAnswersAreWhatMarshalGives(t *testing.T) {
	for _, data := range []string{"", "a\nb", "ä\u2028\x00\x7f\"\\", strings.Repeat("x\n", 5000)} {
		want, err := jsonx.Marshal(readAnswer{Data: data, BytesRead: len(data), SHA256: digest([]byte(data))})
		must(t, err)
		if got := answerOf([]byte(data), len(data), digest([]byte(data))); string(got)+"\n" != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
