//go:build linux && (amd64 || arm64)

package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestASlowReaderOfAStreamGetsEveryByte takes each piece when it has come; nothing but
// the call itself stands between.
func TestASlowReaderOfAStreamGetsEveryByte(t *testing.T) {
	const size = 3 << 20 // three times what waits for a reader at most
	env := home(t)
	p, _, stderr := start(t, env, "/", nil)
	read, write := io.Pipe()
	p.stdout = newOutlet(write)
	status := make(chan int, 1)
	go func() {
		status <- p.main(t.Context(), []string{"durward", "exec", "-q", "--stream", "--raw", "--", "sh", "-c", `head -c 3145728 /dev/zero; echo done >&2`})
		write.Close()
	}()
	n, err := io.Copy(io.Discard, read)
	if err != nil || n != size || <-status != 0 {
		t.Errorf("%d of %d bytes arrived: %v", n, size, err)
	}
	if got := strings.TrimSpace(stderr.String()); got != "done" {
		t.Errorf("standard error is %q", got)
	}
}

// A gated input gives its text once it is let.
type gated struct {
	gate <-chan struct{}
	text io.Reader
}

func (g gated) Read(b []byte) (int, error) {
	<-g.gate
	return g.text.Read(b)
}

// TestInputComesAfterOutput answers a question that the command has asked.
func TestInputComesAfterOutput(t *testing.T) {
	gate := make(chan struct{})
	p, _, stderr := start(t, home(t), "/", gated{gate, strings.NewReader("fine\n")})
	var out bytes.Buffer
	opened := false
	p.stdout = newOutlet(writerFunc(func(b []byte) (int, error) {
		if out.Write(b); !opened && strings.Contains(out.String(), "how are you?") {
			opened = true
			close(gate)
		}
		return len(b), nil
	}))
	status := p.main(t.Context(), []string{"durward", "exec", "-q", "--stream", "--", "sh", "-c", `echo "how are you?"; read -r a; echo "so: $a"`})
	if status != 0 || out.String() != "how are you?\nso: fine\n" {
		t.Errorf("status %d, output %q, %s", status, &out, stderr)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
