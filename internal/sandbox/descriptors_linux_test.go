//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A command has its streams, and nothing else, whatever numbers they have with us: in a program
// that has many open, none stands where another one is to go.
func TestStreamsOfAnyNumber(t *testing.T) {
	eachTrial(t, func(t *testing.T, r *trial) {
		r.shell(t, `read line; echo "$line"; echo said >&2; for n in 3 4 5 6 7 8 9; do eval "true >&$n" 2>/dev/null && echo "$n"; done; true`)
		for range 2 {
			in, out, said := stream(t, "heard\n"), stream(t, ""), stream(t, "")
			p, err := Start(t.Context(), r.compile(t), r.request, Stdio{in, out, said}, r.host)
			if err != nil {
				t.Fatal(err)
			}
			<-p.Exited()
			p.Kill()
			if err := errors.Join(p.Exit().Err, p.Close()); err != nil {
				t.Fatal(err)
			}
			if got := [2]string{content(t, out), content(t, said)}; got != [2]string{"heard\n", "said\n"} {
				t.Errorf("descriptors %d, %d and %d: %q", fdOf(in), fdOf(out), fdOf(said), got)
			}
			for fd := -1; fd < 2*firstSpareFD; { // the next ones are high
				fd = fdOf(stream(t, ""))
			}
		}
	})
}

// stream is a file that is read or written as a stream.
func stream(t *testing.T, text string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stream")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func content(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
