//go:build linux || darwin

package file

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/pathguard"
)

func (s *shelf) write(t testing.TB, input string) (durward.Result, error) {
	t.Helper()
	return call(t, s.keeper, Spec{Guard: s.guard, Does: Writes}, free, input)
}

func TestWrites(t *testing.T) {
	s := newShelf(t, pathguard.Zone{Path: ".", Recursive: true, CreateIfMissing: true})
	for _, tt := range []struct{ input, name, want string }{
		{`{"path":"a","data":"one"}`, "a", "one"},
		{`{"path":"a","data":"two","overwrite":true,"create":false}`, "a", "two"},
		{`{"path":"b","data":"YQD/","encoding":"base64"}`, "b", "a\x00\xff"},
		{`{"path":"c/d/e","data":""}`, "c/d/e", ""},
		{`{"path":"f","data":"\ufeff\r\n€"}`, "f", "\ufeff\r\n€"},
	} {
		result, err := s.write(t, tt.input)
		must(t, err)
		answer := fmt.Sprintf(`{"bytesWritten":%d,"sha256":"%s"}`, len(tt.want), digest([]byte(tt.want)))
		if string(result.Output) != answer || *result.Content != (durward.Content{Bytes: int64(len(tt.want)), SHA256: digest([]byte(tt.want))}) {
			t.Errorf("%s: %s, %+v", tt.input, result.Output, result.Content)
		}
		st, err := os.Stat(filepath.Join(s.dir, tt.name))
		must(t, err)
		if text, err := os.ReadFile(filepath.Join(s.dir, tt.name)); string(text) != tt.want || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q, %v, mode %v", tt.input, text, err, st.Mode())
		}
	}
}

// A file that is replaced keeps what it allowed, and gains nothing.
func TestModesAreKept(t *testing.T) {
	s := newShelf(t, pathguard.Zone{Path: "."})
	for mode, want := range map[os.FileMode]os.FileMode{
		0o755 | os.ModeSetuid: 0o755, 0o2775 | os.ModeSetgid: 0o775, 0o644: 0o644, 0o400: 0o400, 0o777 | os.ModeSticky: 0o777,
	} {
		s.put(t, "a", "old")
		path := filepath.Join(s.dir, "a")
		must(t, os.Chmod(path, mode))
		_, err := s.write(t, `{"path":"a","data":"new","overwrite":true}`)
		must(t, err)
		if st, err := os.Stat(path); st.Mode() != want || err != nil {
			t.Errorf("%v has become %v, %v", mode, st.Mode(), err)
		}
		must(t, os.Remove(path))
	}
}

// A write that is refused or cancelled leaves nothing, not even for a moment's temporary
// file.
func TestNothingIsLeft(t *testing.T) {
	s := newShelf(t, pathguard.Zone{Path: ".", Recursive: true, CreateIfMissing: true, MaxFileBytes: 10})
	s.put(t, "old", "old")
	before := snapshot(t, s.dir)
	for input, want := range map[string]durward.Reason{
		`{"path":"new/a","data":"12345678901"}`:                                durward.MaxFileBytes,
		`{"path":"old","data":"12345678901"}`:                                  durward.MaxFileBytes, // before it is asked whether it exists
		`{"path":"old","data":"x"}`:                                            durward.FileExists,
		`{"path":"new/a","data":"x","create":false}`:                           durward.FileNotFound,
		`{"path":"new/a","data":"MTIzNDU2Nzg5MDE=","encoding":"base64"}`:       durward.MaxFileBytes,
		`{"path":"` + strings.Repeat("x", 256) + `","data":"x"}`:               durward.PathTooLong,
		`{"path":"../` + filepath.Base(s.dir) + `-evil/a","data":"x"}`:         durward.OutsideRoot,
		`{"path":"/proc/self/root` + s.dir + `/a","data":"x"}`:                 durward.OutsideRoot,
		`{"path":"old/a","data":"x"}`:                                          durward.NotADirectory,
		`{"path":"none/../old","data":"x","overwrite":true,"encoding":"utf8"}`: durward.DotDotInMissingPath,
	} {
		_, err := s.write(t, input)
		if durward.ReasonOf(err) != want {
			t.Errorf("%s: %v (%s), want %s", input, err, durward.ReasonOf(err), want)
		}
		if d := durward.DetailOf(err); want == durward.MaxFileBytes && (d.Limit != 10 || d.Actual != 11) {
			t.Errorf("%s: %d of %d", input, d.Actual, d.Limit)
		}
	}
	p, err := New(s.keeper).Prepare(t.Context(), durward.Tool{Spec: Spec{Guard: s.guard, Does: Writes}},
		durward.Call{Input: json.RawMessage(`{"path":"new/a","data":"x"}`)}, free)
	must(t, err)
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Run(ctx); durward.KindOf(err) != durward.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
	unchanged(t, s.dir, before)
}
