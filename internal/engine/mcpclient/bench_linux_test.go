//go:build linux && (amd64 || arm64)

package mcpclient

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

// BenchmarkCall is a call of a tool that does nothing, beside the same two lines through pipes to
// the same program.
func BenchmarkCall(b *testing.B) {
	b.Run("engine", func(b *testing.B) {
		h := started(b, entry("a"))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.call(b.Context(), "a", "echo", `{"a":1}`); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("engine/8", func(b *testing.B) {
		e := entry("a")
		e.Concurrency = 8
		h := started(b, e)
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := h.call(b.Context(), "a", "echo", `{"a":1}`); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("pipes", func(b *testing.B) {
		c := exec.Command(fixture)
		in, err := c.StdinPipe()
		must(b, err)
		out, err := c.StdoutPipe()
		must(b, err)
		must(b, c.Start())
		lines := bufio.NewReader(out)
		b.ReportAllocs()
		for id := 0; b.Loop(); id++ {
			_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`+"\n", id)
			must(b, err)
			_, err = lines.ReadBytes('\n')
			must(b, err)
		}
		must(b, in.Close())
		_, _ = io.Copy(io.Discard, lines)
		must(b, c.Wait())
	})
}
