package release

import (
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/release/releasetest"
)

func TestAddressesThatAreRefused(t *testing.T) {
	for _, address := range []string{
		"http://example.org/releases", "ftp://example.org", "example.org", "//example.org", "https://", "https:///releases", "https://a b",
		"https://example.org/releases?x=1", "https://example.org/#v1.0.0", "file:///releases", "",
	} {
		if _, err := NewServer(address, ServerOptions{}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// A badServer has a good release, of which it spoils the file at one path.
func badServer(t *testing.T, spoiled string, spoil http.HandlerFunc) (*Server, *Key) {
	s, dir := newSigner(t), t.TempDir()
	must(t, s.Make(filepath.Join(dir, "v0.4.0"), "0.4.0", releasetest.Script("0.4.0")))
	point(t, dir, Stable, "0.4.0")
	files := http.FileServer(http.Dir(dir))
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == spoiled {
			spoil(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}), ""), keyOf(t, s)
}

func TestServersThatAreNotBelieved(t *testing.T) {
	asked := atomic.Int32{}
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(plain.Close)
	endless := func(w http.ResponseWriter, r *http.Request) {
		for more := make([]byte, 1<<20); r.Context().Err() == nil; {
			if _, err := w.Write(more); err != nil {
				return
			}
		}
	}
	for _, test := range []struct {
		name  string
		spoil http.HandlerFunc
		want  durward.Reason
		says  string
	}{
		{"without TLS", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusFound)
		}, durward.ReleaseUnverified, "not https"},
		{"in a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, durward.ReleaseUnread, "more than 10 times"},
		{"too large, as it says", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(maxAsset+1))
			w.WriteHeader(http.StatusOK)
		}, durward.ReleaseUnverified, "larger"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("0.4"))
		}, durward.ReleaseUnread, "unexpected EOF"},
		{"an error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, durward.ReleaseUnread, "502"},
	} {
		for _, file := range []string{"/stable/VERSION", "/v0.4.0/" + sumsName, "/v0.4.0/" + signatureName, "/v0.4.0/" + asset} {
			t.Run(test.name+" "+path.Base(file), func(t *testing.T) {
				server, key := badServer(t, file, test.spoil)
				_, program, err := take(t.Context(), server, Stable, key)
				if durward.ReasonOf(err) != test.want || program != nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, want %s", err, test.want)
				}
			})
		}
	}
	for _, file := range []string{"/stable/VERSION", "/v0.4.0/" + sumsName, "/v0.4.0/" + signatureName} {
		server, key := badServer(t, file, endless)
		if _, _, err := take(t.Context(), server, Stable, key); durward.ReasonOf(err) != durward.ReleaseUnverified {
			t.Errorf("%s without end: %v", file, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("a server was asked without TLS")
	}
}

func TestPointersThatAreNotBelieved(t *testing.T) {
	for _, text := range []string{"", "v0.4.0", "0.4", "newest", "0.4.0-beta.1", "0.4.0 0.5.0", "../v0.4.0", "0.4.0+build"} {
		server, key := badServer(t, "/stable/VERSION", func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte(text))
		})
		if _, _, err := take(t.Context(), server, Stable, key); durward.ReasonOf(err) != durward.ReleaseUnverified {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server may send on to another one, as those of GitHub do.
func TestAServerMaySendOnOverTLS(t *testing.T) {
	s, dir := newSigner(t), t.TempDir()
	must(t, s.Make(filepath.Join(dir, "v0.4.0"), "0.4.0", releasetest.Script("0.4.0")))
	point(t, dir, Stable, "0.4.0")
	files := http.StripPrefix("/stored", http.FileServer(http.Dir(dir)))
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/stored/") {
			files.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, "/stored"+r.URL.Path, http.StatusFound)
	}), "")
	if version, _, err := take(t.Context(), server, Stable, keyOf(t, s)); err != nil || version != "0.4.0" {
		t.Errorf("%s %v", version, err)
	}
}

// Whoever has no certificate of an authority that is believed is not asked for anything.
func TestAServerWithoutAGoodCertificate(t *testing.T) {
	asked := atomic.Int32{}
	served := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	served.Config.ErrorLog = nil
	served.StartTLS()
	t.Cleanup(served.Close)
	server, err := NewServer(served.URL, ServerOptions{})
	must(t, err)
	if _, _, err := take(t.Context(), server, Stable, nil); durward.ReasonOf(err) != durward.ReleaseUnverified || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}
