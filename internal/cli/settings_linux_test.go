package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/audit"
)

func TestALaterConfigurationWinsMemberByMember(t *testing.T) {
	env := home(t)
	p, _, _ := start(t, env, env["HOME"], nil)
	p.systemConfig = filepath.Join(env["HOME"], "etc")
	p.configFile = filepath.Join(env["HOME"], "named.yaml")
	for file, text := range map[string]string{
		"etc/config.yaml":             "audit: {sync: always, keep: 3, rotate_bytes: 5000}\n",
		".config/durward/config.yaml": "audit: {keep: all, args: plain}\n",
		"named.yaml":                  "audit: {args: sha256}\n",
	} {
		path := filepath.Join(env["HOME"], file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p.userConfigDir() != filepath.Join(env["HOME"], ".config", "durward") {
		t.Fatalf("the user's folder is %s", p.userConfigDir())
	}
	got, read, err := p.settings()
	want := audit.Options{Sync: audit.SyncAlways, Keep: -1, MaxBytes: 5000, Args: audit.ArgsHash}
	if err != nil || len(read) != 3 || !cmp.Equal(got.audit, want) {
		t.Errorf("%+v from %q, %v; want %+v", got.audit, read, err, want)
	}
}

// TestThePageOfTheConfigurationIsComplete finds each key and each default in it.
func TestThePageOfTheConfigurationIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```yaml\n")
	shown, _, _ = strings.Cut(shown, "```")
	p, _, _ := start(t, home(t), "/", nil)
	p.configFile = filepath.Join(home(t)["HOME"], "shown.yaml")
	if err := os.WriteFile(p.configFile, []byte(shown), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := p.settings()
	if err != nil || !cmp.Equal(got.audit, audit.Options{MaxBytes: 10_000_000, Keep: 10}) {
		t.Errorf("the page shows %+v, %v", got.audit, err)
	}
	var inPage []string
	for _, line := range strings.Split(string(page), "\n") {
		if key, ok := strings.CutPrefix(line, "| `audit."); ok {
			inPage = append(inPage, key[:strings.Index(key, "`")])
		}
	}
	if diff := cmp.Diff([]string{"sync", "rotate_bytes", "keep", "args"}, inPage); diff != "" {
		t.Error(diff)
	}
}
