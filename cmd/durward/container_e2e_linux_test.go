//go:build linux && e2e

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inside runs in the container: it serves the page, has it run two commands, and asks
// for a level that there is none of.
const inside = `mkdir -p /tmp /root
durward serve /site -p 8000 2>/log &
until grep -q Serving /log; do sleep 0.1; done
sed 's/^/log: /' /log
ask() { wget -S -O- --header 'Content-Type: application/json' --post-data "$1" http://127.0.0.1:8000/ 2>&1; echo; }
ask '{"command":["cat","README.md"]}'
ask '{"command":["touch","ran"]}'
test -e /site/ran && echo it wrote
durward doctor
durward exec --policy /least.yaml -- touch /site/ran
echo "status $?"
test -e /site/ran && echo it ran
exit 0
`

const containerPage = "---\ntools:\n  - [cat, README.md]\n  - [touch, {}]\n---\n# A page\n"

// A page is served the same in a container as the engine makes it by default, where there
// are no namespaces to be had: at level 1, and it says so. What asks for more is refused.
func TestInADefaultContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, "context", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("site/README.md", containerPage)
	write("least.yaml", "mode: read-only\nminLevel: 2\n")
	write("inside.sh", inside)
	write("Dockerfile", `FROM scratch
COPY busybox durward /bin/
COPY site /site
COPY least.yaml inside.sh /
ENV PATH=/bin HOME=/root DURWARD_STATE_DIR=/state
RUN ["/bin/busybox", "--install", "-s", "/bin"]
`)
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	command(t, nil, "cp", busybox, filepath.Join(dir, "context", "busybox"))
	command(t, nil, "cp", buildProgram(t), filepath.Join(dir, "context", "durward"))
	engine := startEngine(t, dir).client
	command(t, engine, "docker", "build", "-q", "-t", "durward-test", filepath.Join(dir, "context"))
	got := command(t, engine, "docker", "run", "--rm", "--network", "none", "durward-test", "sh", "/inside.sh")
	for _, want := range []string{
		"log: durward: level 1: ", "Durward-Sandbox: level=1, mode=read-only, held=\"fs.read fs.write net unix priv syscalls\"",
		`{"stdout":"---\ntools:`, `touch: ran: Permission denied`, "\nlevel 1      OK ", "\nlevel 2      WARN ",
		"why: rule sandbox.minLevel (/least.yaml:2): level 2 cannot be had: ", "DWD-SANDBOX-001", "\nstatus 125\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"it wrote", "it ran"} {
		if strings.Contains(got, not) {
			t.Errorf("%s:\n%s", not, got)
		}
	}
}

func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
