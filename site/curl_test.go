package site

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/core/coretest"
	doorsite "github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/engine/fetch"
	"github.com/durward/durward/internal/engine/page"
	"github.com/durward/durward/internal/source/pages"
)

// curlTime is what a request gets.
const curlTime = 2 * time.Second

// curling is a site whose curl may reach this machine, for servers of the test.
func curling(t *testing.T, ports ...uint16) http.Handler {
	t.Helper()
	root := folder(t)
	write(t, root+"/README.md", "---\ntools:\n  - [curl, {}]\n---\n")
	files, err := content.OpenLocal(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	c := Config{Limits: Limits{Timeout: curlTime, OutputBytes: 1000}}.withDefaults()
	operator, err := c.policy(files.Root())
	if err != nil {
		t.Fatal(err)
	}
	engine := &page.Engine{Programs: executing{}, BuiltIn: map[string]core.Engine{"curl": fetch.New(fetch.Options{
		Ports: ports, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	})}}
	runtime, err := core.New(core.Options{
		Source: pages.New(files, pages.Options{}), Policy: pages.Rules{Operator: operator, Fetches: true},
		Recorder: &coretest.Memory{}, Engines: map[string]core.Engine{pages.Engine: engine},
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := doorsite.New(doorsite.Options{Runtime: runtime, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Each way in which a request of the built-in command can end has its answer.
func TestCurl(t *testing.T) {
	held := make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 1001))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.Repeat("x", 1001))
			z.Close()
		case "/slow":
			<-held
		case "/cut":
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "x")
		case "/elsewhere":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		default:
			_, _ = io.WriteString(w, r.Method+" "+r.URL.Path)
		}
	}))
	defer remote.Close()
	defer close(held)
	secure := httptest.NewUnstartedServer(remote.Config.Handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	shut := httptest.NewServer(nil)
	shut.Close()
	h := curling(t, portOf(t, remote.URL), portOf(t, secure.URL), portOf(t, shut.URL))
	tests := []struct {
		command []string
		status  int
		want    string // the code of a refusal, else what is printed
	}{
		{[]string{"curl", remote.URL + "/x"}, 200, "GET /x"},
		{[]string{"curl", "-X", "delete", remote.URL + "/x"}, 200, "DELETE /x"},
		{[]string{"curl", remote.URL + "/missing"}, 200, "404 page not found\n"},
		{[]string{"curl", remote.URL + "/large"}, 413, "output_too_large"},
		{[]string{"curl", remote.URL + "/bomb"}, 413, "output_too_large"},
		{[]string{"curl", remote.URL + "/slow"}, 408, "timeout"},
		{[]string{"curl", remote.URL + "/cut"}, 502, "network"},
		{[]string{"curl", shut.URL}, 502, "network"},
		{[]string{"curl", secure.URL}, 502, "network"},
		{[]string{"curl", strings.Replace(remote.URL, "http:", "https:", 1)}, 502, "network"},
		{[]string{"curl", "http://durward.invalid/"}, 502, "network"},
		{[]string{"curl", "ftp://127.0.0.1/"}, 403, "url_denied"},
		{[]string{"curl", "http://127.0.0.2/"}, 403, "url_denied"},
		{[]string{"curl", "http://127.1/"}, 403, "url_denied"},
		{[]string{"curl", "http://127.0.0.1:1/"}, 403, "url_denied"},
		{[]string{"curl", "http://[::ffff:169.254.169.254]/"}, 403, "url_denied"},
		{[]string{"curl", "-d", "@/etc/passwd", remote.URL}, 400, "bad_request"},
		{[]string{"curl", "-H", "Host: evil", remote.URL}, 400, "bad_request"},
		{[]string{"curl", "-o", "x", remote.URL}, 400, "bad_request"},
		{[]string{"curl", "http://exa mple/"}, 400, "bad_request"},
		{[]string{"curl", "http:///x"}, 400, "bad_request"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.command, " "), func(t *testing.T) {
			body, err := json.Marshal(ActionRequest{Command: test.command})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			began := time.Now()
			h.ServeHTTP(w, r)
			var a struct{ Stdout, Code string }
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
				t.Fatal(err)
			}
			if w.Code != test.status || a.Stdout+a.Code != test.want {
				t.Errorf("%d %s, want %d %q", w.Code, w.Body, test.status, test.want)
			}
			if took := time.Since(began); test.want == "timeout" && took > 20*curlTime {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func portOf(t *testing.T, url string) uint16 {
	t.Helper()
	_, authority, _ := strings.Cut(url, "://")
	address, err := net.ResolveTCPAddr("tcp", authority)
	if err != nil {
		t.Fatal(err)
	}
	return uint16(address.Port)
}
