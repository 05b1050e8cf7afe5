package httpreq

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/google/go-cmp/cmp"
)

// tell writes what a request was, as far as a redirect may change it.
func tell(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h := r.Header
	fmt.Fprintf(w, "%s %s %q auth=%q cookie=%q type=%q x=%q", r.Method, r.URL, body, h.Get("Authorization"), h.Get("Cookie"), h.Get("Content-Type"), h.Get("X"))
}

// A hop server leads from /hop/STATUS?TO to TO.
func hop(w http.ResponseWriter, r *http.Request) {
	code, ok := strings.CutPrefix(r.URL.Path, "/hop/")
	if !ok {
		tell(w, r)
		return
	}
	status, _ := strconv.Atoi(code)
	w.Header().Set("Location", r.URL.RawQuery)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "redir")
}

func TestRedirects(t *testing.T) {
	here, there := newSite(t, hop), newSite(t, hop)
	e := engine(t, Options{Allow: []string{here.at(), there.at()}})
	const kept, gone = ` auth="a" cookie="c" `, ` auth="" cookie="" `
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/hop/301?/x", `GET /x "body"` + kept + `type="t" x="1"`},
		{"HEAD", "/hop/303?/x", ``},
		{"POST", "/hop/301?/x", `GET /x ""` + kept + `type="" x="1"`},
		{"POST", "/hop/302?/x", `GET /x ""` + kept + `type="" x="1"`},
		{"PUT", "/hop/303?/x", `GET /x ""` + kept + `type="" x="1"`},
		{"POST", "/hop/307?/x", `POST /x "body"` + kept + `type="t" x="1"`},
		{"PUT", "/hop/308?/x", `PUT /x "body"` + kept + `type="t" x="1"`},
		{"GET", "/hop/304?/x", ``},
		{"GET", "/hop/300?/x", `redir`},
		{"GET", "/hop/201?/x", `redir`},
		{"POST", "/hop/307?" + there.URL + "/x", `POST /x "body"` + gone + `type="t" x="1"`},
		{"GET", "/hop/302?//" + there.at() + "/x", `GET /x "body"` + gone + `type="t" x="1"`},
		{"GET", "/hop/302?" + there.URL + "/hop/302?" + here.URL + "/x", `GET /x "body"` + gone + `type="t" x="1"`},
		{"GET", "/hop/302?/%2e%2Fü\"", `GET /%2e%2F%C3%BC%22 "body"` + kept},
		{"GET", "/hop/302?/x?q=ü#f", `GET /x?q=%C3%BC "body"` + kept},
	} {
		got := answered(t, e, says(map[string]any{
			"method": tt.method, "url": here.URL + tt.path, "bodyBase64": base64of("body"),
			"headers": []field{{"authorization", "a"}, {"Cookie", "c"}, {"content-type", "t"}, {"X", "1"}},
		}))
		if !strings.HasPrefix(string(got.Body), tt.want) || tt.want == "" && len(got.Body) > 0 {
			t.Errorf("%s %s: %s, want\n%s", tt.method, tt.path, got.Body, tt.want)
		}
	}
}

func TestStop(t *testing.T) {
	s := newSite(t, hop)
	got := answered(t, engine(t, Options{Allow: []string{s.at()}}), says(map[string]any{"method": "GET", "url": s.URL + "/hop/302?http://169.254.169.254/", "redirectPolicy": "stop"}))
	if got.Status != 302 || string(got.Body) != "redir" || got.Headers[0] != (field{"location", "http://169.254.169.254/"}) {
		t.Errorf("%+v", got)
	}
}

// A redirect goes nowhere that a request may not, and what was refused is told.
func TestRedirectsAreJudged(t *testing.T) {
	elsewhere := sentry(t, "127.0.0.1:0")
	s := newSite(t, hop)
	e := engine(t, Options{Allow: []string{s.at()}, Resolver: unasked{t}})
	for _, to := range []string{
		"http://" + elsewhere + "/", "//" + elsewhere, "https://" + elsewhere, "http://169.254.169.254/latest", "http://localhost:80/", "http://site.test/", "http://127.1:80/",
	} {
		before := len(s.requests())
		r, err := do(t.Context(), e, ample, get(s.URL+"/hop/307?"+to))
		if durward.ReasonOf(err) != durward.HostDenied || r.Output != nil || len(s.requests()) != before+1 {
			t.Errorf("%s: %v", to, err)
		}
		if r.Network == nil || r.Network.Connections != 1 || len(r.Network.Allowed) != 1 {
			t.Errorf("%s: %+v", to, r.Network)
		}
	}
	for _, to := range []string{"ftp://" + elsewhere, "file:///etc/passwd", "http://me@" + s.at() + "/", "http://:80", "http://a:x/", "javascript:1", "%zz"} {
		if r, err := do(t.Context(), e, ample, get(s.URL+"/hop/307?"+to)); durward.ReasonOf(err) != durward.ConnectFailed || r.Output != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestRedirectsStayWithinTheGrant(t *testing.T) {
	here, there := newSite(t, hop), newSite(t, hop)
	e := engine(t, Options{Allow: []string{here.at(), there.at()}})
	g := durward.Grant{Network: durward.Network{Mode: durward.NetAllowlist, Allow: []string{here.at()}}}
	if _, err := do(t.Context(), e, g, get(here.URL+"/hop/302?"+there.URL)); durward.ReasonOf(err) != durward.HostDenied || len(there.requests()) != 0 {
		t.Errorf("%v, and %q came", err, there.requests())
	}
}

func TestTheRefusedHopIsTold(t *testing.T) {
	s := newSite(t, hop)
	r, err := do(t.Context(), engine(t, Options{Allow: []string{s.at()}}), ample, get(s.URL+"/hop/307?http://10.0.0.1:81/"))
	if durward.ReasonOf(err) != durward.HostDenied {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]durward.Contact{{Host: "10.0.0.1", Port: 81, Rule: rule, Times: 1}}, r.Network.Refused); diff != "" {
		t.Error(diff)
	}
}

func TestTenRedirects(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Path[1:]); n > 0 {
			http.Redirect(w, r, "/"+strconv.Itoa(n-1), http.StatusFound)
		}
	})
	e := engine(t, Options{Allow: []string{s.at()}})
	r, err := do(t.Context(), e, ample, get(s.URL+"/10"))
	must(t, err)
	if read(t, r.Output).Status != 200 || r.Network.Connections != 11 || r.Network.Allowed[0].Times != 11 {
		t.Errorf("%s %+v", r.Output, r.Network)
	}
	if _, err := do(t.Context(), e, ample, get(s.URL+"/11")); durward.ReasonOf(err) != durward.ConnectFailed {
		t.Errorf("an eleventh: %v", err)
	}
	if n := len(s.requests()); n != 22 {
		t.Errorf("%d requests came", n)
	}
}

func TestARedirectThatGoesRound(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	if _, err := do(t.Context(), engine(t, Options{Allow: []string{s.at()}}), ample, get(s.URL+"/x")); durward.ReasonOf(err) != durward.ConnectFailed {
		t.Error(err)
	}
	if n := len(s.requests()); n != maxRedirects+1 {
		t.Errorf("%d requests came", n)
	}
}

func TestALocationKeepsItsMeaning(t *testing.T) {
	r, err := requestOf(input{Method: "GET", URL: "http://a.b/c/d"})
	must(t, err)
	for location, want := range map[string]string{
		"/%2Fü \"":            "http://a.b/%2F%C3%BC%20%22",
		"e?f g":               "http://a.b/c/e?f%20g",
		"../../x":             "http://a.b/x",
		"//bücher.example/ü":  "http://xn--bcher-kva.example/%C3%BC",
		"HTTPS://C.D:443/#x":  "https://c.d/",
		"?":                   "http://a.b/c/d?",
		"http://[::1]:80/%41": "http://[::1]/%41",
	} {
		u, target, err := r.resolve(location)
		if err != nil || u.String() != want {
			t.Errorf("%s leads to %s at %s: %v; want %s", location, u, target, err, want)
		}
	}
}
