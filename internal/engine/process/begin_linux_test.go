package process

import (
	"testing"

	"github.com/durward/durward"
)

// A command may begin in the root directory where its grant says so, at every level, cold
// and warm, and nowhere else; it sees nothing more by that.
func TestBeginAtRoot(t *testing.T) {
	e := newEngine(t, Options{Warm: true})
	for _, level := range []durward.Level{durward.LevelNone, durward.LevelRestrict, durward.LevelIsolate} {
		g := seeingUsr(level)
		if _, err := e.run(t.Context(), shellIn("/", "pwd"), g); durward.ReasonOf(err) != durward.DirDenied {
			t.Errorf("level %d: without the right it ends with %v", level.Number(), err)
		}
		g.BeginAtRoot = true
		for range 3 {
			r, err := e.run(t.Context(), shellIn("/", "pwd; ls var >/dev/null 2>&1 || echo hidden"), g)
			must(t, err)
			want := "/\nhidden\n"
			if level == durward.LevelNone {
				want = "/\n"
			}
			if string(r.Stdout.Bytes()) != want {
				t.Errorf("level %d: %q, %q", level.Number(), r.Stdout.Bytes(), r.Stderr.Bytes())
			}
		}
		if _, err := e.run(t.Context(), shellIn("/root", "pwd"), g); durward.ReasonOf(err) != durward.DirDenied {
			t.Errorf("level %d: elsewhere it ends with %v", level.Number(), err)
		}
	}
}

// seeingUsr is a grant that shows programs and libraries.
func seeingUsr(level durward.Level) durward.Grant {
	g := confined()
	g.Level = level
	g.Files.Read = []string{"/usr", "/etc/alternatives"}
	g.Files.Links = []durward.Link{{Path: "/bin", To: "/usr/bin"}, {Path: "/lib", To: "/usr/lib"}, {Path: "/lib64", To: "/usr/lib64"}}
	g.Files.Exec = g.Files.Read
	return g
}

func shellIn(dir, script string) durward.Call {
	c := shell("%s", script)
	c.Dir = dir
	return c
}
