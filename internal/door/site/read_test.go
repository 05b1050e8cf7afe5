package site

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/core"
)

// A large is a file of nothing but text that counts what is read of it.
type large struct {
	size, at int64
	read     *int64
	on       func(read int64)
}

func (l *large) Read(p []byte) (int, error) {
	n := min(int64(len(p)), l.size-l.at)
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	l.at += n
	*l.read += n
	if l.on != nil {
		l.on(*l.read)
	}
	return int(n), nil
}

func (l *large) Seek(offset int64, whence int) (int64, error) {
	l.at = offset
	if whence == io.SeekEnd {
		l.at += l.size
	}
	return l.at, nil
}

func (*large) Close() error { return nil }

// larges finds the same file under every path.
type larges struct {
	large
	key string
}

func (l *larges) Resolve(context.Context, string) (*content.Content, error) {
	f := l.large
	return &content.Content{Body: &f, Path: "large.txt", Size: f.size, Key: l.key}, nil
}

func doorTo(t *testing.T, files content.Resolver) http.Handler {
	t.Helper()
	h, err := New(Options{Runtime: &core.Runtime{}, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func head(ctx context.Context, h http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodHead, "http://localhost/large.txt", nil).WithContext(ctx)
	r.RequestURI = "/large.txt"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Whether a file is text is found out once for every version of it.
func TestALargeFileIsNotReadAgain(t *testing.T) {
	var read int64
	files := &larges{large{size: 8 << 20, read: &read}, "one"}
	h := doorTo(t, files)
	for i, want := range []int64{8 << 20, 8 << 20, 16 << 20, 16 << 20} {
		if i == 2 {
			files.key = "two"
		}
		if w := head(t.Context(), h); w.Code != http.StatusOK || w.Header().Get("Content-Type") != kindPlain || read != want {
			t.Errorf("request %d: %d %v after %d bytes, want %d", i, w.Code, w.Header(), read, want)
		}
	}
}

// Nobody reads on for a client that has gone.
func TestALargeFileIsLeftWithItsReader(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var read int64
	files := &larges{large{size: 1 << 40, read: &read, on: func(read int64) {
		if read > 3<<20 {
			cancel(&durward.Error{Reason: durward.CallCancelled})
		}
	}}, "one"}
	if w := head(ctx, doorTo(t, files)); w.Code != 499 || read > 6<<20 {
		t.Errorf("%d after %d bytes", w.Code, read)
	}
}

// A file is text when all of it is UTF-8, wherever it is cut into pieces.
func TestIsText(t *testing.T) {
	long := strings.Repeat("é", 40<<10)
	for text, want := range map[string]bool{
		"": true, "a": true, "\xff": false, "\xc3": false, long: true, "x" + long: true, long + "\xc3": false, "x" + long + "\xff" + long: false,
		long + "\U0001f600": true, long + "\xf0\x9f\x98": false,
	} {
		f := strings.NewReader(text)
		got, err := isText(t.Context(), f)
		if err != nil || got != want || f.Len() != len(text) {
			t.Errorf("%.10q… of %d bytes: %v %v, %d bytes are left", text, len(text), got, err, f.Len())
		}
	}
	if _, err := isText(t.Context(), unseekable{}); durward.ReasonOf(err) != durward.FileIO {
		t.Error(err)
	}
}

type unseekable struct{}

func (unseekable) Read([]byte) (int, error)       { return 0, io.EOF }
func (unseekable) Seek(int64, int) (int64, error) { return 0, errors.New("no") }
