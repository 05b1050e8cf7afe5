package httpreq

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/google/go-cmp/cmp"
)

func TestResult(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("X-B", "1")
		w.Header().Set("Content-Type", "a/b")
		_, _ = io.WriteString(w, "body\xff")
	})
	r, err := do(t.Context(), engine(t, Options{Allow: []string{s.at()}}), durward.Grant{}, get(s.URL))
	must(t, err)
	const want = `{"status":200,"headers":[{"name":"content-type","value":"a/b"},{"name":"x-b","value":"1"},{"name":"content-length","value":"5"},` +
		`{"name":"connection","value":"close"}],"bodyBase64":"Ym9kef8="}`
	if string(r.Output) != want {
		t.Errorf("%s", r.Output)
	}
	sum := sha256.Sum256([]byte("body\xff"))
	if diff := cmp.Diff(&durward.Content{Bytes: 5, SHA256: hex.EncodeToString(sum[:])}, r.Content); diff != "" {
		t.Error(diff)
	}
	port, _ := strconv.Atoi(s.at()[strings.LastIndexByte(s.at(), ':')+1:])
	sent := len("GET / HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n") + len(s.at())
	received := len("HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nX-B: 1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbody\xff")
	r.Network.OpenMs = 0
	if diff := cmp.Diff(&durward.Traffic{
		Allowed: []durward.Contact{{Host: "127.0.0.1", Port: uint16(port), Times: 1}}, Refused: []durward.Contact{},
		Connections: 1, SentBytes: int64(sent), ReceivedBytes: int64(received),
	}, r.Network); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		switch r.URL.Path {
		case "/nine":
			_, _ = io.WriteString(w, "123456789")
		case "/endless":
			_, _ = io.Copy(w, always{})
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 4096))
		}
	})
	e := engine(t, Options{Allow: []string{s.at()}})
	whole, err := do(t.Context(), e, ample, get(s.URL+"/nine"))
	must(t, err)
	size := int64(len(whole.Output))
	for _, tt := range []struct {
		name   string
		limits durward.Limits
		path   string
		reason durward.Reason
	}{
		{"exactly the limit", durward.Limits{Output: size}, "/nine", ""},
		{"one byte less", durward.Limits{Output: size - 1}, "/nine", durward.OutputTooLarge},
		{"the headers count", durward.Limits{Output: 4096}, "/headers", durward.OutputTooLarge},
		{"exactly the hard limit", durward.Limits{OutputHard: 9}, "/nine", ""},
		{"more than the hard limit", durward.Limits{OutputHard: 8}, "/nine", durward.OutputTooLarge},
		{"a body without an end", durward.Limits{}, "/endless", durward.OutputTooLarge},
		{"a body without an end and no limit", durward.Limits{Output: durward.Unlimited, OutputHard: durward.Unlimited}, "/endless", durward.OutputTooLarge},
	} {
		r, err := do(t.Context(), e, durward.Grant{Limits: tt.limits}, get(s.URL+tt.path))
		if durward.ReasonOf(err) != tt.reason || (r.Output == nil) != (err != nil) {
			t.Errorf("%s: %s, %v", tt.name, r.Output, err)
		}
		if r.Content != nil && r.Content.Bytes > maxBodyBytes+chunkBytes {
			t.Errorf("%s: %d bytes were taken in", tt.name, r.Content.Bytes)
		}
	}
}

// always is zeroes without an end.
type always struct{}

func (always) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// The time of a call is for all of it, redirects and the body among it.
func TestTime(t *testing.T) {
	began := make(chan struct{}, 1)
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/round":
			http.Redirect(w, r, "/head", http.StatusFound)
			return
		case "/body":
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
		}
		began <- struct{}{}
		<-r.Context().Done()
	})
	e := engine(t, Options{Allow: []string{s.at()}})
	for _, path := range []string{"/head", "/body", "/round"} {
		r, err := do(t.Context(), e, ample, says(map[string]any{"method": "GET", "url": s.URL + path, "timeoutMs": 200}))
		if durward.ReasonOf(err) != durward.DeadlineExceeded || r.Output != nil {
			t.Errorf("%s: %v", path, err)
		}
		if path == "/body" && (r.Content == nil || r.Content.Bytes != 4) {
			t.Errorf("what came is not told: %+v", r.Content)
		}
		<-began
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-began
			cancel()
		}()
		if _, err := do(ctx, e, ample, get(s.URL+path)); durward.ReasonOf(err) != durward.CallCancelled {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestATimeBeyondAllReason(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	answered(t, engine(t, Options{Allow: []string{s.at()}}), says(map[string]any{"method": "GET", "url": s.URL, "timeoutMs": int64(1<<63 - 1)}))
}
