//go:build linux || darwin

package denyglob

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkExpand searches a workspace of 20 000 files in 1 000 directories.
func BenchmarkExpand(b *testing.B) {
	root := temp(b)
	for i := range 1000 {
		dir := filepath.Join(root, fmt.Sprint(i%10), fmt.Sprint(i/10))
		must(b, os.MkdirAll(dir, 0o755))
		for n := range 20 {
			must(b, os.WriteFile(filepath.Join(dir, fmt.Sprint("file", n, ".go")), nil, 0o644))
		}
	}
	plant(b, root, "1/2/.env")
	for _, bb := range []struct {
		name     string
		patterns []string
	}{
		{"one", []string{"/**/.env"}},
		{"ten", []string{"/**/.env", "/**/.env.*", "/**/*.pem", "/**/*.key", "/**/id_*", "/**/*secret*", "/**/.npmrc", "/**/.netrc", "/**/*.p12", "/**/.aws/*"}},
		{"shallow", []string{"/*/.env"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				paths, err := Expand(b.Context(), in(root, bb.patterns), []string{root})
				if err != nil || bb.name != "shallow" && len(paths) != 1 {
					b.Fatal(paths, err)
				}
			}
		})
	}
}
