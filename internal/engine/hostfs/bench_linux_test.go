package hostfs

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/durward/durward"
)

// BenchmarkReadFile and BenchmarkWriteFile take a megabyte through the engine; the first of
// each is what the file costs by itself.
func BenchmarkReadFile(b *testing.B) {
	benchmark(b, func(b *testing.B, s *scene) {
		_, err := os.ReadFile(s.path("ws/big"))
		must(b, err)
	}, func(b *testing.B, s *scene) {
		_, err := s.do(b.Context(), "readFile", `{"path":"$/ws/big"}`)
		must(b, err)
	})
}

func BenchmarkWriteFile(b *testing.B) {
	content := bytes.Repeat([]byte("0123456789abcdef"), benchBytes/16)
	benchmark(b, func(b *testing.B, s *scene) {
		must(b, os.WriteFile(s.path("ws/big"), content, 0o644))
	}, func(b *testing.B, s *scene) {
		_, err := s.do(b.Context(), "writeFile", `{"path":"$/ws/big"}`, content...)
		must(b, err)
	})
}

func BenchmarkMetadata(b *testing.B) {
	benchmark(b, func(b *testing.B, s *scene) {
		_, err := os.Stat(s.path("ws/big"))
		must(b, err)
	}, func(b *testing.B, s *scene) {
		_, err := s.do(b.Context(), "getMetadata", `{"path":"$/ws/big"}`)
		must(b, err)
	})
}

const benchBytes = 1 << 20

func benchmark(b *testing.B, bare, through func(*testing.B, *scene)) {
	for _, run := range []struct {
		name  string
		grant func(*scene) durward.Grant
		do    func(*testing.B, *scene)
	}{
		{"bare", func(*scene) durward.Grant { return free }, bare},
		{"free", func(*scene) durward.Grant { return free }, through},
		{"held", func(s *scene) durward.Grant {
			return confinedTo(durward.WorkspaceWrite, durward.Files{Read: []string{"/"}, Write: []string{s.path("ws")}})
		}, through},
		{"judged", (*scene).workspace, through},
	} {
		b.Run(run.name+"/"+strconv.Itoa(benchBytes), func(b *testing.B) {
			s := newScene(b)
			s.put(b, "ws/big", string(bytes.Repeat([]byte{'x'}, benchBytes)))
			s.grant = run.grant(s)
			for b.Loop() {
				run.do(b, s)
			}
		})
	}
}
