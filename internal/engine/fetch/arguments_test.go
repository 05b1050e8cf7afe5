package fetch

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/netguard"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpguts"
)

// words parts a line at its blanks. A blank within a word is written "_".
func words(line string) []string {
	list := strings.Fields(line)
	for i, word := range list {
		list[i] = strings.ReplaceAll(word, "_", " ")
	}
	return list
}

func TestArguments(t *testing.T) {
	type asked struct {
		method, url, body string
		header            http.Header
		flags             string
		maxTime           time.Duration
	}
	plain := func(more ...string) http.Header {
		h := http.Header{"Accept": {"*/*"}, "User-Agent": {"durward"}}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1 : i+2]
		}
		return h
	}
	form := func(more ...string) http.Header {
		return plain(append([]string{"Content-Type", "application/x-www-form-urlencoded"}, more...)...)
	}
	const u = "http://example.com/x"
	for line, want := range map[string]asked{
		"curl " + u:                              {"GET", u, "", plain(), "", 0},
		"curl -X GET " + u:                       {"GET", u, "", plain(), "", 0},
		"curl -X post " + u:                      {"POST", u, "", plain(), "", 0},
		"curl --request Delete " + u:             {"DELETE", u, "", plain(), "", 0},
		"curl " + u + " -X HEAD":                 {"HEAD", u, "", plain(), "", 0},
		"curl -d a=1 " + u:                       {"POST", u, "a=1", form(), "", 0},
		"curl -d a=1 --data-raw @b -d c " + u:    {"POST", u, "a=1&@b&c", form(), "", 0},
		"curl -X PUT -d a " + u:                  {"PUT", u, "a", form(), "", 0},
		"curl -d -X " + u:                        {"POST", u, "-X", form(), "", 0},
		"curl -H Content-type:_text/x -d a " + u: {"POST", u, "a", plain("Content-Type", "text/x"), "", 0},
		"curl -H x-a:b -H user-agent:me " + u:    {"GET", u, "", plain("X-A", "b", "User-Agent", "me"), "", 0},
		"curl -s -S -f -i " + u:                  {"GET", u, "", plain(), "sSfi", 0},
		"curl -fsS " + u:                         {"GET", u, "", plain(), "sSf", 0},
		"curl --max-time 2 " + u:                 {"GET", u, "", plain(), "", 2 * time.Second},
		"curl --max-time 0.25 " + u:              {"GET", u, "", plain(), "", 250 * time.Millisecond},
	} {
		r, err := parseArguments(words(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		got := asked{r.method, r.url.String(), r.body(), r.header, "", r.maxTime}
		for flag, set := range map[string]bool{"s": r.silent, "S": r.showError, "f": r.fail, "i": r.include} {
			if set != strings.Contains(want.flags, flag) {
				t.Errorf("%s: -%s is %v", line, flag, set)
			}
		}
		want.flags = ""
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(asked{})); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestRefusedArguments(t *testing.T) {
	const u = " http://example.com/"
	for _, line := range []string{
		"", "curl", "curl -X", "curl -X GET", "curl" + u + u, "curl" + u + " -X", "curl" + u + " -H", "curl" + u + " --max-time",
		"curl -X FETCH" + u, "curl -X GET_/" + u, "curl -X CONNECT" + u, "curl -X TRACE" + u, "curl -X GET -X POST" + u,
		"curl -L" + u, "curl -k" + u, "curl --insecure" + u, "curl -o x" + u, "curl -O" + u, "curl -T x" + u, "curl -u a:b" + u, "curl -x http://p" + u,
		"curl --proxy p" + u, "curl -K x" + u, "curl --location" + u, "curl --header a:b" + u, "curl -sL" + u, "curl -XPOST" + u, "curl -" + u,
		"curl --" + u, "curl -b a" + u, "curl --resolve a:1:b" + u, "curl --next" + u, "curl -F a=b" + u, "curl --data-binary x" + u,
		"curl -d @/etc/passwd" + u, "curl -d @" + u,
		"curl -H Host:_x" + u, "curl -H hOSt:x" + u, "curl -H Connection:_close" + u, "curl -H Transfer-Encoding:_chunked" + u,
		"curl -H Content-Length:_5" + u, "curl -H Proxy-Authorization:_x" + u, "curl -H proxy-anything:x" + u, "curl -H Upgrade:_x" + u,
		"curl -H x" + u, "curl -H x:" + u, "curl -H x;" + u, "curl -H :x" + u, "curl -H a_b:x" + u, "curl -H Host_:x" + u, "curl -H @file" + u,
		"curl --max-time 0" + u, "curl --max-time -1" + u, "curl --max-time 1e3" + u, "curl --max-time inf" + u, "curl --max-time ." + u,
		"curl --max-time 1 --max-time 2" + u, "curl --max-time 5s" + u,
	} {
		refusedAs(t, words(line), durward.BadCall)
	}
	refusedAs(t, []string{"curl", "-H", "a: b\r\nHost: c", "http://example.com/"}, durward.BadCall)
	refusedAs(t, []string{"curl", "-H", "a: b\x00", "http://example.com/"}, durward.BadCall)
	refusedAs(t, []string{"curl", ""}, durward.BadCall)
}

func refusedAs(t *testing.T, argv []string, want durward.Reason) {
	t.Helper()
	if _, err := parseArguments(argv); durward.ReasonOf(err) != want {
		t.Errorf("%q: %v, want %s", argv, err, want)
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"http://example.com":                     "http://example.com example.com:80",
		"HTTPS://Example.COM./a?b=c#d":           "https://example.com/a?b=c example.com:443",
		"http://example.com:80/":                 "http://example.com/ example.com:80",
		"http://example.com:/":                   "http://example.com/ example.com:80",
		"https://example.com:80/":                "https://example.com:80/ example.com:80",
		"http://bücher.example/ü":                "http://xn--bcher-kva.example/%C3%BC xn--bcher-kva.example:80",
		"http://93.184.216.34/":                  "http://93.184.216.34/ 93.184.216.34:80",
		"https://[2606:2800:220:1::]/":           "https://[2606:2800:220:1::]/ [2606:2800:220:1::]:443",
		"http://[2606:2800:0220:0001::0]:8080/x": "http://[2606:2800:220:1::]:8080/x [2606:2800:220:1::]:8080",
		"http://example.com/@user":               "http://example.com/@user example.com:80",
	} {
		u, target, err := parseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := u.String() + " " + target.String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestRefusedURLs(t *testing.T) {
	for _, text := range []string{
		"example.com", "//example.com/", "/x", "http:", "http:/example.com", "http:///x", "http://", "http:example.com", "http://:80/", "http://[]/", "http://?x",
		"http://exa mple.com/", "http://example.com/a b", " http://example.com/", "http://example.com/\n", "http://example.com\t/", "http://example.com/\x00",
		`http://example.com\@x/`, `http:\\example.com\`, "http://example.com/\x7f", "http://example.com/\u00a0", "http://example.com/\u2028", "http://\xff/",
		"http://example.com:0/", "http://example.com:65536/", "http://example.com:080/", "http://example.com:x/", "http://example.com:80:80/",
		"http://%6cocalhost/", "http://[::1/", "http://::1]/", "http://example.com/%zz", "127.0.0.1:80/",
	} {
		refusedAs(t, []string{"curl", text}, durward.BadCall)
	}
	for _, text := range []string{
		"file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "dict://x:1/", "javascript:alert(1)", "data:,x", "ws://example.com/", "unix:/run/x",
		"HTTPX://example.com/", "localhost:80/",
		"http://user@example.com/", "http://user:word@example.com/", "http://@example.com/", "http://:@example.com/", "http://93.184.216.34@127.0.0.1/",
	} {
		refusedAs(t, []string{"curl", text}, durward.HostDenied)
	}
}

// FuzzArguments asks of any arguments: no panic, and of what is accepted that it keeps
// every rule.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"curl http://example.com/", "curl -X post -d a=1 http://example.com/x", "curl -fsS -i -H A:_b --max-time 1.5 https://[2606:2800::1]:443/",
		"curl http://user@example.com", "curl http://0x7f.1/", "curl -H Host:_x http://a.b/", "curl -d @x http://a.b/", "curl http://a.b:80:80/",
		"curl http://bücher.example/?ü#x", "curl --data-raw @ --request HEAD http://127。0。0。1/", "curl file:///x", "curl -- x",
	} {
		f.Add(strings.Join(words(line), "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseArguments(strings.Split(text, "\n"))
		if err != nil {
			if reason := durward.ReasonOf(err); reason != durward.BadCall && reason != durward.HostDenied {
				t.Fatalf("%q is refused as %q", text, reason)
			}
			return
		}
		again, err := url.Parse(r.url.String())
		if err != nil || !netguard.IsHTTP(again) || again.User != nil || again.Fragment != "" || again.Host != r.url.Host {
			t.Fatalf("%q gives the URL %s: %v", text, r.url, err)
		}
		if target, err := netguard.TargetOf(again); again.Hostname() != string(r.target.Host) || target != r.target || err != nil {
			t.Fatalf("%q goes to %s, and says %s", text, r.target, again.Host)
		}
		if !slices.Contains(methods, r.method) || r.maxTime < 0 {
			t.Fatalf("%q has the method %q and the time %s", text, r.method, r.maxTime)
		}
		for name, values := range r.header {
			bad := !httpguts.ValidHeaderFieldName(name) || isOurs(name)
			if bad || slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
				t.Fatalf("%q sends %q: %q", text, name, values)
			}
		}
	})
}
