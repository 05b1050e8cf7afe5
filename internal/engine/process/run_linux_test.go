//go:build linux && (amd64 || arm64)

package process

import (
	"context"
	"testing"
	"time"

	"github.com/durward/durward"
)

func shell(script string) durward.Call {
	return durward.Call{ID: "test", Argv: []string{"sh", "-c", script}, Dir: "/"}
}

func grant() durward.Grant {
	return durward.Grant{
		Mode: durward.ReadOnly, StepDown: true, Env: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"},
		PrivateDir: []string{"HOME", "TMPDIR"}, Limits: durward.DefaultLimits(), Keep: durward.KeepHeadTail,
	}
}

func TestSmoke(t *testing.T) {
	e := New(Options{})
	defer e.Close()
	for _, s := range []string{"echo hi; id; pwd; env; ls -la $HOME; echo err >&2; exit 3", "cat", "(setsid env -i sleep 300 &) ; sleep 300", "kill -9 $$", "yes | head -c 3000000"} {
		c := shell(s)
		c.Stdin = []byte("input\n")
		p, err := e.Prepare(t.Context(), durward.Tool{}, c, grant())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		began := time.Now()
		r, err := p.Run(ctx)
		cancel()
		t.Logf("%s: %v %v exit %d sig %d total %d dropped %d\n%.400s%.100s\n%+v", s, time.Since(began), err, r.ExitStatus(), r.Signal, r.Stdout.Total, r.Stdout.Dropped(), r.Stdout.Bytes(), r.Stderr.Bytes(), r.Report)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
