package site_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/site"
)

// Each answer of a command says at what level it ran, and by what the machine held it;
// a page that is read ran nothing.
func TestAnswersTellTheirSandbox(t *testing.T) {
	for level, want := range map[durward.Level]string{
		durward.LevelNone: "level=0, mode=read-only, held=", durward.LevelRestrict: "level=1, mode=read-only, held=\"fs.read fs.write net unix",
		durward.LevelIsolate: "level=2, mode=read-only, held=\"fs.read fs.write fs.meta net unix proc ipc kill",
	} {
		r := start(t, setup{files: map[string]string{"README.md": page("[sh, -c, {}]")}, config: func(c *site.Config) {
			c.Sandbox, c.SandboxLevel = site.Sandbox{}, level
		}})
		a := r.ask(run("/", "sh", "-c", "touch ran; echo done"))
		if got := a.Header.Get("Durward-Sandbox"); a.StatusCode != http.StatusOK || !strings.HasPrefix(got, want) {
			t.Errorf("%d, %q, want %q", a.StatusCode, got, want)
		}
		if level != durward.LevelNone && r.has("ran") {
			t.Errorf("level %d: the command wrote into the site", level.Number())
		}
		if got := r.ask(get("/")).Header.Get("Durward-Sandbox"); got != "" {
			t.Errorf("a page has %q", got)
		}
		if got := r.ask(run("/", "no")).Header.Get("Durward-Sandbox"); got != "" {
			t.Errorf("a refusal has %q", got)
		}
	}
}

// What the site hides from who reads pages is hidden from their commands, too.
func TestCommandsDoNotSeeWhatIsHidden(t *testing.T) {
	r := start(t, setup{files: map[string]string{"README.md": page("[cat, {}]"), "token": "hush", "seen": "open"}, config: func(c *site.Config) {
		c.Sandbox, c.Hidden = site.Sandbox{}, append(c.Hidden, c.Root+"/token")
	}})
	if a := r.ask(run("/", "cat", "seen")); !strings.Contains(a.body, "open") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := r.ask(run("/", "cat", "token")); strings.Contains(a.body, "hush") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}
