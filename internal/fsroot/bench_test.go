//go:build linux || darwin

package fsroot

import (
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkRead reads 4 KiB contained and judged, and as a plain open, read and close,
// in turn, and reports the ratio of the medians. "ratio" has package os as its floor,
// "syscall-ratio" the bare system calls.
func BenchmarkRead(b *testing.B) {
	tr := newTree(b)
	must(b, os.WriteFile(tr.at("sub/4k"), make([]byte, 4096), 0o644))
	path, buf := tr.at("sub/4k"), make([]byte, 4096)
	ways := map[string]func() error{
		"os":      func() error { return readPlain(path, buf) },
		"syscall": func() error { return readBare(path, buf) },
	}
	for name, by := range openers() {
		r := open(b, tr.root, by)
		ways[name] = func() error { return readContained(r, "sub/4k", buf) }
	}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for name, read := range ways {
			start := time.Now()
			err := read()
			took[name] = append(took[name], time.Since(start))
			must(b, err)
		}
	}
	for name := range openers() {
		b.ReportMetric(median(took[name])/median(took["os"]), name+"-ratio")
		b.ReportMetric(median(took[name])/median(took["syscall"]), name+"-syscall-ratio")
	}
}

func readContained(r *Root, name string, buf []byte) error {
	f, err := r.OpenFile(name, Rules{})
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, buf)
	return err
}

func readPlain(path string, buf []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.ReadFull(f, buf)
	return err
}

func readBare(path string, buf []byte) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Read(fd, buf)
	return err
}

func median(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2])
}
