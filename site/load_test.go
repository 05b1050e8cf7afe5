package site

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

func write(t testing.TB, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// folder gives the physical path of a fresh directory.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const everyKey = `
host = "::1"
port = 0
timeout = 2.5
max_output_bytes = 1_000
max_list_items = 7
max_concurrent = 3
max_queue = 0
shutdown_grace = 0x10
path = "/opt/bin:/bin"
envelope = "data"
components = true
argument_guard = false
allow_env = ["PGDATABASE"]
allowed_hosts = ["site.example.org"]
allowed_origins = ["https://example.org"]

[env]
DB = "notes.db"

[http]
enabled = true
ports = [8443]

[auth]
token_file = "secret.token"

[sandbox]
mode = "danger-full-access"
limits = {wallMs = 1000}
`

func TestLoadConfigReadsEveryKey(t *testing.T) {
	dir := folder(t)
	token := write(t, filepath.Join(dir, "secret.token"), "abc\n")
	file := write(t, filepath.Join(dir, "site.conf"), everyKey)
	got, err := LoadConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Sandbox.IsBuiltIn() || got.Sandbox.document.Mode != durward.DangerFullAccess || got.Sandbox.document.Limits.Wall != time.Second {
		t.Errorf("the policy is %+v", got.Sandbox.document)
	}
	if len(got.Tokens) != 1 || got.Tokens[0].Name != "secret" {
		t.Errorf("the tokens are %v", got.Tokens)
	}
	got.Sandbox, got.Tokens = Sandbox{}, nil
	want := Config{
		Host: "::1", Port: 0, Limits: Limits{Timeout: 2500 * time.Millisecond, OutputBytes: 1000, ListItems: 7},
		Env: map[string]string{"DB": "notes.db"}, AllowEnv: []string{"PGDATABASE"}, Path: "/opt/bin:/bin",
		Hidden: []string{token, file}, NoArgumentGuard: true, Components: true, HTTP: HTTP{Enabled: true, Ports: []uint16{8443}},
		DataEnvelope: true, AllowedHosts: []string{"site.example.org"}, AllowedOrigins: []string{"https://example.org"},
		MaxConcurrent: 3, MaxQueue: -1, ShutdownGrace: 16 * time.Second,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Sandbox{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLoadConfigOfAnEmptyFileIsTheDefault(t *testing.T) {
	file := write(t, filepath.Join(folder(t), "site.toml"), "")
	got, err := LoadConfig(file)
	if want := (Config{Host: DefaultHost, Port: DefaultPort, Hidden: []string{file}}); err != nil || !cmp.Equal(want, got, cmp.AllowUnexported(Sandbox{})) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLoadConfigHidesWhatLinksLeadTo(t *testing.T) {
	dir := folder(t)
	real := write(t, filepath.Join(dir, "real.toml"), "")
	link := filepath.Join(dir, "site.toml")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadConfig(link); err != nil || !cmp.Equal(got.Hidden, []string{real}) {
		t.Errorf("hidden are %q, %v", got.Hidden, err)
	}
}

// TestLoadConfigNamesEveryMistake gives each key a value that it cannot have.
func TestLoadConfigNamesEveryMistake(t *testing.T) {
	t.Chdir(folder(t))
	write(t, "open.token", "abc")
	write(t, "odd.token", "two\nlines")
	if err := os.Chmod("open.token", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{`hots = "::1"`, `s.toml:1:1: unknown field "hots" (did you mean "host"?)`},
		{`host = "localhost"`, `s.toml:1:8: host must be an address such as 127.0.0.1 or ::1, not "localhost"`},
		{`host = 1`, `s.toml:1:8: host must be a string, not an integer; put it in quotes: "1"`},
		{`port = 65536`, `s.toml:1:8: port must be between 0 and 65535, not 65536`},
		{`port = "80"`, `s.toml:1:8: port must be an integer, not a string`},
		{`timeout = 0`, `s.toml:1:11: timeout must be between 0.001 and 31536000 seconds, not 0`},
		{`timeout = nan`, `s.toml:1:11: timeout must be between 0.001 and 31536000 seconds, not nan`},
		{`timeout = inf`, `s.toml:1:11: timeout must be between 0.001 and 31536000 seconds, not inf`},
		{`timeout = 1e300`, `s.toml:1:11: timeout must be between 0.001 and 31536000 seconds, not 1e300`},
		{`timeout = "30"`, `s.toml:1:11: timeout must be a number of seconds, not a string`},
		{`max_output_bytes = 0`, `s.toml:1:20: max_output_bytes must be between 1 and 1099511627776, not 0`},
		{`max_list_items = -1`, `s.toml:1:18: max_list_items must be between 1 and 1000000, not -1`},
		{`max_concurrent = 0`, `s.toml:1:18: max_concurrent must be between 1 and 1000000, not 0`},
		{`max_queue = -1`, `s.toml:1:13: max_queue must be between 0 and 1000000, not -1`},
		{`shutdown_grace = -1`, `s.toml:1:18: shutdown_grace must be between 0 and 31536000 seconds, not -1`},
		{`path = "/bin:bin"`, `s.toml:1:8: path must list absolute directories, not "bin"`},
		{`path = ""`, `s.toml:1:8: path is empty; leave it out for the default`},
		{`envelope = "date"`, `s.toml:1:12: envelope must be one of flat, data, not "date" (did you mean "data"?)`},
		{`components = "yes"`, `s.toml:1:14: components must be a boolean, not a string`},
		{`argument_guard = 0`, `s.toml:1:18: argument_guard must be a boolean, not an integer`},
		{`allow_env = ["A B"]`, `s.toml:1:14: allow_env[0]: what should be the name of a variable is none: letters, digits and _`},
		{`allowed_hosts = "a"`, `s.toml:1:17: allowed_hosts must be a list, not a string`},
		{`allowed_hosts = ["a", "/"]`, `s.toml:1:23: allowed_hosts[1]: `},
		{`allowed_origins = ["example.org"]`, `s.toml:1:20: allowed_origins[0]: `},
		{"[env]\nA = 1", `s.toml:2:5: env.A must be a string, not an integer; put it in quotes`},
		{"[env]\n\"A-B\" = \"\"", `s.toml:2:1: env: what should be the name of a variable is none: letters, digits and _`},
		{"[http]\nenable = true", `s.toml:2:1: unknown field "enable" (did you mean "enabled"?)`},
		{"[http]\nports = [0]", `s.toml:2:10: http.ports[0] must be between 1 and 65535, not 0`},
		{"[auth]", `s.toml:1:2: auth has no token_file: without one everybody is served`},
		{"[auth]\ntoken_file = \"none\"", `s.toml:2:14: auth.token_file: none: no such file or directory`},
		{"[auth]\ntoken_file = \"odd.token\"", `s.toml:2:14: auth.token_file: odd.token is empty or holds other characters than -._~+/=, letters and digits in one line`},
		{"[auth]\ntoken_file = \".\"", `s.toml:2:14: auth.token_file: .: it is no regular file`},
		{"[auth]\ntoken_file = \"open.token\"", `s.toml:2:14: auth.token_file: open.token: others can open it (mode 0644); type: chmod 600 open.token`},
		{"[sandbox]\nmode = \"none\"", `s.toml:2:8: sandbox.mode must be one of `},
		{"[sandbox]\nmodes = \"none\"", `s.toml:2:1: unknown field "modes"`},
		{"port = 1\nport = 2", `s.toml:2:1: not TOML: `},
		{"port", `s.toml:1:4: not TOML: `},
	} {
		c, err := LoadConfig(write(t, "s.toml", test.text))
		switch {
		case runtime.GOOS == "windows" && strings.Contains(test.want, "chmod"):
		case durward.ReasonOf(err) != durward.ConfigInvalid:
			t.Errorf("%s: %+v, %v", test.text, c, err)
		case len(config.ProblemsOf(err)) != 1 || !strings.HasPrefix(config.ProblemsOf(err).Error(), test.want):
			t.Errorf("%s:\n got %s\nwant %s", test.text, config.ProblemsOf(err), test.want)
		case !cmp.Equal(c, Config{}, cmp.AllowUnexported(Sandbox{})):
			t.Errorf("%s: a configuration comes with the error: %+v", test.text, c)
		}
	}
}

func TestLoadConfigGoesOnAfterAMistake(t *testing.T) {
	t.Chdir(folder(t))
	_, err := LoadConfig(write(t, "s.toml", "ports = 1\ntimeout = \"x\"\n[sandbox]\nlevel = 9\n[env]\nA = 1\n"))
	if got := config.ProblemsOf(err); len(got) != 4 {
		t.Errorf("%d mistakes:\n%v", len(got), err)
	}
}

func TestLoadConfigOfWhatIsNoFile(t *testing.T) {
	dir := folder(t)
	for _, file := range []string{filepath.Join(dir, "nowhere"), dir, os.DevNull} {
		if _, err := LoadConfig(file); durward.ReasonOf(err) != durward.ConfigInvalid || !strings.Contains(err.Error(), file+": ") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestReadEnvFile(t *testing.T) {
	t.Chdir(folder(t))
	got, err := ReadEnvFile(write(t, "env", "\ufeff# first\n\n  A = b c \r\nB=\"x=y\"\n\t#C=1\nD=\nA=later"))
	want := map[string]string{"A": "later", "B": `"x=y"`, "D": ""}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, test := range []struct{ text, want string }{
		{"A=1\nsecret-without-name\n", "env:2:1: there is no = in it; write NAME=VALUE"},
		{"export A=1\n1=2", "env:1:1: what should be the name of a variable is none: letters, digits and _\nenv:2:1: what should be the name of a variable is none: letters, digits and _"},
		{"c2VjcmV0c2VjcmV0+w==\n", "env:1:1: what should be the name of a variable is none: letters, digits and _"},
		{"A=\x00", "env:1:1: the value of A holds a NUL byte"},
		{"=x", "env:1:1: what should be the name of a variable is none: letters, digits and _"},
	} {
		got, err := ReadEnvFile(write(t, "env", test.text))
		if got != nil || durward.ReasonOf(err) != durward.ConfigInvalid || config.ProblemsOf(err).Error() != test.want {
			t.Errorf("%q: %v\n got %v\nwant %s", test.text, got, err, test.want)
		}
	}
	if _, err := ReadEnvFile("nowhere"); durward.ReasonOf(err) != durward.ConfigInvalid {
		t.Error(err)
	}
}

func TestParseSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "2.5": 2500 * time.Millisecond, "1m30s": 90 * time.Second, "0.001": time.Millisecond,
		"0": 0, "": 0, "-1": 0, "x": 0, "1e99": 0, "NaN": 0, "-1s": 0,
	} {
		if got, err := ParseSeconds(text); got != want && want != 0 || (err == nil) != (want != 0) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add([]byte(everyKey))
	f.Add([]byte("[env]\nA=\"\"\n[[http]]\nports=[1]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseConfig("/nowhere/s.toml", text)
		if err != nil && (durward.ReasonOf(err) != durward.ConfigInvalid || len(config.ProblemsOf(err)) == 0) {
			t.Fatalf("%v", err)
		}
		if err == nil && c.withDefaults().check() != nil {
			t.Fatalf("it reads %+v, which cannot be", c)
		}
	})
}
