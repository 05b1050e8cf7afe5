package domain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tool is an entry of a manifest that lacks nothing, with more lines at its end, from line 7 on.
func tool(more ...string) string {
	lines := []string{"domain_id: d", "version: 1", "tools:", "  - tool_id: a.b", "    transport: {type: http, base_url: 'http://w:8080'}", ""}
	for _, line := range more {
		lines = append(lines, "    "+line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// transport is a manifest whose transport, on line 5, is what it is given.
func transport(members string) string {
	return "domain_id: d\nversion: 1\ntools:\n  - tool_id: a\n    transport: {" + members + "}\n"
}

// Every rule of a manifest has a row here.
func TestMistakesInManifests(t *testing.T) {
	const id = "a tool's id is words of letters, digits, _ and - with dots between them, of at most 128 characters"
	const domainID = "domain_id: a domain's id is 1 to 128 letters, digits and characters out of _.-"
	const time = "tools[0].timeout_sec: must be more than 0 and at most 3600 seconds, not "
	const base = "m:5: tools[0].transport.base_url: "
	const inner = base + "the address is one of the link or of a metadata service, where no worker is"
	const variable = "m:5: tools[0].transport.auth.env: must be the name of a variable, such as WORKER_TOKEN, and not a secret"
	for _, test := range []struct{ name, manifest, want string }{
		{"empty", "", "m:1: the document: must be a mapping, not empty"},
		{"a list", "[]", "m:1: the document: must be a mapping, not a list"},
		{"not YAML", "domain_id: [", "m:2: a value is missing"},
		{"not UTF-8", "domain_id: \xff", "m:1: not UTF-8: byte 0xff"},
		{"too large", "domain_id: d\nversion: 1\ntools: []\n#" + strings.Repeat("x", 1<<20), "m: the document is over 1048576 bytes"},
		{"two documents", "domain_id: d\nversion: 1\ntools: []\n---\na: 1\n", "m:4: a second document begins here; there may be only one"},
		{"all is missing", "{}", "m:1: domain_id: is missing\nm:1: version: is missing\nm:1: tools: is missing"},
		{"null for all", "domain_id:\nversion:\ntools:\n", "m:1: domain_id: must be a string, not empty\nm:2: version: must be a string, not empty\nm:3: tools: must be a list, not empty"},
		{"wrong types", "domain_id: 1\nversion: [1]\ntools: {}\n", "m:1: domain_id: must be a string, not an integer; put it in quotes: \"1\"\nm:2: version: must be a string, not a list\nm:3: tools: must be a list, not a mapping"},
		{"an empty version", "domain_id: d\nversion: ''\ntools: []\n", "m:2: version: is empty"},
		{"an id with a slash", "domain_id: a/b\nversion: 1\ntools: []\n", "m:1: " + domainID},
		{"an empty id", "domain_id: ''\nversion: 1\ntools: []\n", "m:1: " + domainID},
		{"an id too long", "domain_id: " + strings.Repeat("a", 129) + "\nversion: 1\ntools: []\n", "m:1: " + domainID},
		{"an unknown key", "domain_id: d\nversion: 1\ntool: []\ntools: []\n", `m:3: unknown field "tool" (did you mean "tools"?)`},
		{"a key twice", "domain_id: d\nversion: 1\ntools: []\nversion: 2\n", `m:4: duplicate field "version" (first on line 2)`},
		{"an unknown key of a tool", tool("timout_sec: 5"), `m:7: tools[0]: unknown field "timout_sec" (did you mean "timeout_sec"?)`},
		{"another case", tool("Timeout_Sec: 5"), `m:7: tools[0]: unknown field "Timeout_Sec" (did you mean "timeout_sec"?)`},
		{"an unknown key of a transport", transport("type: http, base_url: 'http://w', baseurl: x, x-y: 1"), "m:5: tools[0].transport: unknown field \"baseurl\" (did you mean \"base_url\"?)\nm:5: tools[0].transport: unknown field \"x-y\""},
		{"a merged mapping", "x-a: &a {kind: service_worker}\n" + tool("<<: *a"), `m:8: tools[0]: unknown field "<<"`},
		{"a tool without anything", "domain_id: d\nversion: 1\ntools: [{}]\n", "m:3: tools[0].tool_id: is missing\nm:3: tools[0].transport: is missing"},
		{"a tool that is none", "domain_id: d\nversion: 1\ntools: [x]\n", "m:3: tools[0]: must be a mapping, not a string"},
		{"a tool's id with a slash", strings.Replace(tool(), "a.b", "a/b", 1), "m:4: tools[0].tool_id: " + id},
		{"with a colon", strings.Replace(tool(), "a.b", "'a:run'", 1), "m:4: tools[0].tool_id: " + id},
		{"with two dots", strings.Replace(tool(), "a.b", "a..b", 1), "m:4: tools[0].tool_id: " + id},
		{"beginning with a dot", strings.Replace(tool(), "a.b", ".a", 1), "m:4: tools[0].tool_id: " + id},
		{"empty", strings.Replace(tool(), "a.b", "''", 1), "m:4: tools[0].tool_id: " + id},
		{"too long", strings.Replace(tool(), "a.b", strings.Repeat("a", 129), 1), "m:4: tools[0].tool_id: " + id},
		{"a tool twice", tool() + "  - tool_id: a.b\n    transport: {type: http, base_url: 'http://w'}\n", `m:7: tools[1].tool_id: the tool "a.b" is there already (line 4)`},
		{"an unknown kind", tool("kind: process"), `m:7: tools[0].kind: must be one of service_worker, not "process"`},
		{"a number for a name", tool("display_name: 1.10"), `m:7: tools[0].display_name: must be a string, not a number; put it in quotes: "1.10"`},
		{"a capability that is none", tool("capabilities: [a, 1]"), `m:7: tools[0].capabilities[1]: must be a string, not an integer; put it in quotes: "1"`},

		{"no type", transport("base_url: 'http://w'"), "m:5: tools[0].transport.type: is missing"},
		{"no URL", transport("type: http"), "m:5: tools[0].transport.base_url: is missing"},
		{"another type", transport("type: grpc, base_url: 'http://w'"), `m:5: tools[0].transport.type: must be one of http, not "grpc"`},
		{"another scheme", transport("type: http, base_url: 'ftp://w'"), base + "the URL is neither of http nor of https"},
		{"no scheme", transport("type: http, base_url: 'w'"), base + "the URL has no scheme: write http:// or https://"},
		{"no host", transport("type: http, base_url: 'http:///x'"), base + "the URL has no host"},
		{"a user", transport("type: http, base_url: 'http://user:s3cret@w'"), base + "the URL holds a user name or password; name a variable in transport.auth"},
		{"a query", transport("type: http, base_url: 'http://w?s3cret'"), base + "the URL holds a query"},
		{"an empty query", transport("type: http, base_url: 'http://w/?'"), base + "the URL holds a query"},
		{"a fragment", transport("type: http, base_url: 'http://w#s3cret'"), base + "the URL holds a fragment"},
		{"an empty fragment", transport("type: http, base_url: 'http://w/#'"), base + "the URL holds a fragment"},
		{"a port that is none", transport("type: http, base_url: 'http://w:0'"), base + "the URL's host or port is malformed"},
		{"a number for a host", transport("type: http, base_url: 'http://2130706433'"), base + "the URL's host or port is malformed"},
		{"a space", transport("type: http, base_url: 'http://w /'"), base + "the URL holds a space, a backslash or a control character"},
		{"a path upwards", transport("type: http, base_url: 'http://w/a/%2e%2e/b'"), base + "the path has a .. in it"},
		{"a link-local address", transport("type: http, base_url: 'http://169.254.169.254/latest'"), inner},
		{"the same within IPv6", transport("type: http, base_url: 'http://[::ffff:169.254.169.254]'"), inner},
		{"a link-local IPv6 address", transport("type: http, base_url: 'http://[fe80::1]'"), inner},
		{"a metadata service", transport("type: http, base_url: 'http://[fd00:ec2::254]'"), inner},
		{"a number for a URL", transport("type: http, base_url: 5"), base + `must be a string, not an integer; put it in quotes: "5"`},

		{"an endpoint without a slash", transport("type: http, base_url: 'http://w', endpoint: run"), "m:5: tools[0].transport.endpoint: the path does not begin with /"},
		{"an empty endpoint", transport("type: http, base_url: 'http://w', endpoint: ''"), "m:5: tools[0].transport.endpoint: the path does not begin with /"},
		{"an endpoint with a query", transport("type: http, base_url: 'http://w', endpoint: '/run?x'"), "m:5: tools[0].transport.endpoint: the path holds a query"},
		{"an endpoint with a fragment", transport("type: http, base_url: 'http://w', endpoint: '/run#x'"), "m:5: tools[0].transport.endpoint: the path holds a fragment"},
		{"an endpoint upwards", transport("type: http, base_url: 'http://w', endpoint: '/a/../b'"), "m:5: tools[0].transport.endpoint: the path has a .. in it"},
		{"an endpoint upwards, written otherwise", transport("type: http, base_url: 'http://w', endpoint: '/a/%2E./b'"), "m:5: tools[0].transport.endpoint: the path has a .. in it"},
		{"an endpoint with a bad escape", transport("type: http, base_url: 'http://w', endpoint: '/a%zz'"), "m:5: tools[0].transport.endpoint: the path has a % that is no escape"},
		{"an endpoint with a space", transport("type: http, base_url: 'http://w', endpoint: '/a b'"), "m:5: tools[0].transport.endpoint: the path holds a space, a backslash or a control character"},

		{"a token for auth", transport("type: http, base_url: 'http://w', auth: s3cret"), "m:5: tools[0].transport.auth: must be a mapping, not a string"},
		{"a token in auth", transport("type: http, base_url: 'http://w', auth: {type: bearer, token: s3cret}"), "m:5: tools[0].transport.auth.env: is missing\nm:5: tools[0].transport.auth: unknown field \"token\""},
		{"a token for a variable", transport("type: http, base_url: 'http://w', auth: {type: bearer, env: s3cret}"), variable},
		{"a number for a variable", transport("type: http, base_url: 'http://w', auth: {type: bearer, env: 13370000}"), variable},
		{"nothing for a variable", transport("type: http, base_url: 'http://w', auth: {type: bearer, env: ''}"), variable},
		{"another auth", transport("type: http, base_url: 'http://w', auth: {type: basic, env: A}"), `m:5: tools[0].transport.auth.type: must be one of bearer, not "basic"`},

		{"no time", tool("timeout_sec: 0"), "m:7: " + time + "0"},
		{"less than none", tool("timeout_sec: -1"), "m:7: " + time + "-1"},
		{"no number", tool("timeout_sec: .nan"), "m:7: " + time + ".nan"},
		{"without end", tool("timeout_sec: .inf"), "m:7: " + time + ".inf"},
		{"over an hour", tool("timeout_sec: 3600.1"), "m:7: " + time + "3600.1"},
		{"a text", tool("timeout_sec: '60'"), "m:7: tools[0].timeout_sec: must be a number of seconds, not a string"},
		{"a unit", tool("timeout_sec: 60s"), "m:7: tools[0].timeout_sec: must be a number of seconds, not a string"},

		{"no attempts", tool("retry: {max_attempts: 0}"), "m:7: tools[0].retry.max_attempts: must be between 1 and 10, not 0"},
		{"too many attempts", tool("retry: {max_attempts: 11}"), "m:7: tools[0].retry.max_attempts: must be between 1 and 10, not 11"},
		{"an empty retry", tool("retry: {}"), "m:7: tools[0].retry.max_attempts: is missing"},

		{"a bare host", tool("egress_allowlist: [api.example.com]"), `m:7: tools[0].egress_allowlist[0]: "api.example.com": no port; write host:port`},
		{"a scheme", tool("egress_allowlist: ['https://api.example.com:443']"), `m:7: tools[0].egress_allowlist[0]: it has a scheme; write host:port`},
		{"a path", tool("egress_allowlist: ['api.example.com:443/v1']"), `m:7: tools[0].egress_allowlist[0]: it has a path; write host:port`},
		{"a star", tool("egress_allowlist: ['*']"), `m:7: tools[0].egress_allowlist[0]: * allows every host; write host:port`},
		{"a star with a port", tool("egress_allowlist: ['*:443']"), `m:7: tools[0].egress_allowlist[0]: * allows every host; write host:port`},
		{"a star within", tool("egress_allowlist: ['a.*.com:443']"), `m:7: tools[0].egress_allowlist[0]: "a.*.com": a character that no host has; write host:port`},
		{"the unspecified address", tool("egress_allowlist: ['0.0.0.0:443']"), `m:7: tools[0].egress_allowlist[0]: "0.0.0.0:443": the unspecified address is no destination; write host:port`},
		{"the same bare", tool("egress_allowlist: ['0.0.0.0']"), `m:7: tools[0].egress_allowlist[0]: "0.0.0.0": no port; write host:port`},
		{"the unspecified IPv6 address", tool("egress_allowlist: ['[::]:443']"), `m:7: tools[0].egress_allowlist[0]: "[::]:443": the unspecified address is no destination; write host:port`},
		{"an address without brackets", tool("egress_allowlist: ['::1:443']"), `m:7: tools[0].egress_allowlist[0]: "::1:443": brackets stand around an IPv6 address; write host:port`},
		{"no such port", tool("egress_allowlist: ['a:65536', 'a:0', 'a:']"), "m:7: tools[0].egress_allowlist[0]: \"a:65536\": the port is not a number from 1 to 65535; write host:port\nm:7: tools[0].egress_allowlist[1]: \"a:0\": the port is not a number from 1 to 65535; write host:port\nm:7: tools[0].egress_allowlist[2]: \"a:\": the port is not a number from 1 to 65535; write host:port"},
		{"one in place of a list", tool("egress_allowlist: a:443"), "m:7: tools[0].egress_allowlist: must be a list, not a string"},
		{"an upstream of many", tool("upstreams: ['*.a:443', a]"), "m:7: tools[0].upstreams[0]: name one host: what it calls is no pattern; write host:port\nm:7: tools[0].upstreams[1]: \"a\": no port; write host:port"},
		{"an empty reference", tool("input_schema_ref: ''", "output_schema_ref: 5"), "m:7: tools[0].input_schema_ref: is empty\nm:8: tools[0].output_schema_ref: must be a string, not an integer; put it in quotes: \"5\""},
	} {
		_, got := join(test.manifest, "", "")
		if diff := cmp.Diff(strings.Split(test.want, "\n"), got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if strings.Contains(strings.Join(got, ""), "s3cret") {
			t.Errorf("%s: a secret is told of: %q", test.name, got)
		}
	}
}

func TestMistakesInPolicies(t *testing.T) {
	const seconds = "must be more than 0 and at most 3600 seconds, not "
	for _, test := range []struct{ policies, want string }{
		{"[]", "p:1: the document: must be a mapping, not a list"},
		{"concurency: {}", `p:1: unknown field "concurency" (did you mean "concurrency"?)`},
		{"concurrency: {max_inflght: 1}", `p:1: concurrency: unknown field "max_inflght" (did you mean "max_inflight"?)`},
		{"concurrency: {max_inflight: 0}", "p:1: concurrency.max_inflight: must be between 1 and 100000, not 0"},
		{"concurrency: {max_inflight: 1.5}", "p:1: concurrency.max_inflight: must be an integer, not a number"},
		{"concurrency: {max_queue: -1}", "p:1: concurrency.max_queue: must be between 0 and 100000, not -1"},
		{"concurrency: {queue_timeout_sec: 0}", "p:1: concurrency.queue_timeout_sec: " + seconds + "0"},
		{"concurrency:\n  per_tool_max_inflight:\n    a.b: 0", "p:3: concurrency.per_tool_max_inflight.a.b: must be between 1 and 100000, not 0"},
		{"concurrency:\n  per_tool_max_inflight:\n    a.b: -2", "p:3: concurrency.per_tool_max_inflight.a.b: must be between 1 and 100000, not -2"},
		{"concurrency:\n  per_tool_max_inflight:\n    a.c: 2", `p:3: concurrency.per_tool_max_inflight: the manifest has no tool "a.c" (did you mean "a.b"?)`},
		{"concurrency: {per_tool_max_inflight: 3}", "p:1: concurrency.per_tool_max_inflight: must be a mapping, not an integer"},
		{"timeouts: {default_tool_timeout_sec: 0}", "p:1: timeouts.default_tool_timeout_sec: " + seconds + "0"},
		{"timeouts: {default_tool_timeout_sec: 3601}", "p:1: timeouts.default_tool_timeout_sec: " + seconds + "3601"},
		{"network: {default_egress_policy: none}", `p:1: network.default_egress_policy: must be one of deny, allow, not "none"`},
		{"network: {default_egress_policy: Deny}", `p:1: network.default_egress_policy: must be one of deny, allow, not "Deny" (did you mean "deny"?)`},
		{"logging: {level: TRACE}", "p:1: logging.level: must be one of DEBUG, INFO, WARNING, ERROR"},
		{"logging: {include_request_body: yes}", "p:1: logging.include_request_body: must be a boolean, not a string"},
		{"limits: {max_request_bytes: 0, max_response_bytes: 1099511627776}", "p:1: limits.max_request_bytes: must be between 1 and 1073741824, not 0\np:1: limits.max_response_bytes: must be between 1 and 1073741824, not 1099511627776"},
	} {
		_, got := join(tool(), test.policies, "")
		if diff := cmp.Diff(strings.Split(test.want, "\n"), got); diff != "" {
			t.Errorf("%s: %s", test.policies, diff)
		}
	}
}

func TestTheDomainMustBeTheOneThatWasAskedFor(t *testing.T) {
	_, got := join(tool(), "", "other")
	if diff := cmp.Diff([]string{`m:1: domain_id: is "d", and DOMAIN_ID asks for "other"`}, got); diff != "" {
		t.Error(diff)
	}
	if _, got := join(tool(), "", "d"); got != nil {
		t.Errorf("%q", got)
	}
	if CheckID("a/b") == nil || CheckID("..x") != nil || CheckID("") == nil {
		t.Error("ids are not judged")
	}
}

func TestAllMistakesComeTogether(t *testing.T) {
	m, found := ParseManifest("m", []byte("version: 1\ntools:\n- tool_id: a\n  timeout_sec: 0\n  transport: {type: x}\n- {}\nzzz: 1\n"))
	var lines []string
	for _, one := range found {
		lines = append(lines, one.Error())
	}
	want := []string{
		"m:1: domain_id: is missing", "m:4: tools[0].timeout_sec: must be more than 0 and at most 3600 seconds, not 0",
		"m:5: tools[0].transport.base_url: is missing", `m:5: tools[0].transport.type: must be one of http, not "x"`,
		"m:6: tools[1].tool_id: is missing", "m:6: tools[1].transport: is missing", `m:7: unknown field "zzz"`,
	}
	if diff := cmp.Diff(want, lines); diff != "" || m == nil {
		t.Error(diff)
	}
}

func TestWhatIsAllowed(t *testing.T) {
	d := mustJoin(t, `
x-common: &hosts ["API.Example.com.:443", "*.Example.org:8443", "bücher.example:443", "[::1]:80", "10.0.0.1:5432"]
domain_id: my.domain_-1
version: 0.10
x-anything: {goes: [here]}
tools:
  - tool_id: b
    x-owner: me
    kind: service_worker
    capabilities: [crawl, scrape]
    transport: {type: http, base_url: "HTTPS://Worker.Example:443/prefix/a%20b/", endpoint: "/v1//run", auth: {type: bearer, env: WORKER_TOKEN}}
    timeout_sec: 0.25
    egress_allowlist: *hosts
    upstreams: [a.example.org:8443, "Api.example.com:443"]
    retry: {max_attempts: 3}
  - tool_id: A-1.b_2
    transport: {type: http, base_url: "http://127.0.0.1"}
  - tool_id: c
    transport: {type: http, base_url: "http://[::1]:8080/"}
    timeout_sec: 3_600
`, "x-note: 1\nconcurrency:\nlogging: {level: warning, include_request_body: true}\ntimeouts: {default_tool_timeout_sec: 1.5}\nnetwork: {default_egress_policy: allow}\nlimits: {max_request_bytes: 1, max_response_bytes: 0x10}\n")
	if d.ID != "my.domain_-1" || d.Version != "0.10" || len(d.Tools) != 3 {
		t.Fatalf("%+v", d)
	}
	b := d.Tools[0]
	got := fmt.Sprint(b.Transport, b.Timeout, b.Capabilities, b.Egress.Entries(), b.Upstreams)
	want := "{https://worker.example/prefix/a%20b /v1//run WORKER_TOKEN 3} 250ms [crawl scrape] [api.example.com:443 *.example.org:8443 xn--bcher-kva.example:443 [::1]:80 10.0.0.1:5432] [a.example.org:8443 api.example.com:443]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	a, c := d.Tools[1], d.Tools[2]
	if a.DisplayName != "A-1.b_2" || a.Transport != (Transport{BaseURL: "http://127.0.0.1", Endpoint: "/run", MaxAttempts: 1}) || a.Timeout != 1500*time.Millisecond ||
		a.TimeoutRule != "timeouts.default_tool_timeout_sec" || a.TimeoutWhere.String() != "p:4" || a.EgressWhere.String() != "m:16" {
		t.Errorf("%+v", a)
	}
	if c.Transport.BaseURL != "http://[::1]:8080" || c.Timeout != time.Hour {
		t.Errorf("%+v", c)
	}
	p := d.Policies
	if p.LogLevel != "WARNING" || !p.IncludeRequestBody || p.DenyEgress || p.MaxRequestBytes != 1 || p.MaxResponseBytes != 16 || p.MaxInflight != 8 {
		t.Errorf("%+v", p)
	}
	if d := mustJoin(t, "domain_id: d\nversion: '1'\ntools: []\n", "# nothing but a remark\n"); len(d.Tools) != 0 || d.Policies.MaxInflight != 8 || !d.Policies.DenyEgress {
		t.Errorf("%+v", d)
	}
}

func TestAnchorsAreBounded(t *testing.T) {
	many := "x-list: &list [" + strings.Repeat("'a:1', ", 1000) + "]\n" + tool()
	for i := range 10 {
		many += fmt.Sprintf("  - tool_id: t%d\n    transport: {type: http, base_url: 'http://w'}\n    egress_allowlist: *list\n", i)
	}
	_, got := join(many, "", "")
	if len(got) != 1 || !strings.HasSuffix(got[0], "its aliases expand to more than 10000 values") {
		t.Errorf("%q", got)
	}
	var long strings.Builder
	long.WriteString(tool())
	for i := range 3000 {
		fmt.Fprintf(&long, "  - tool_id: t%d\n    description: %s\n    transport: {type: http, base_url: 'http://w'}\n    egress_allowlist: ['a:1', 'b:2']\n", i, strings.Repeat("x", 160))
	}
	if d := mustJoin(t, long.String(), ""); len(d.Tools) != 3001 {
		t.Errorf("%d tools", len(d.Tools))
	}
}
