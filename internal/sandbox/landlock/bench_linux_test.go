package landlock

import (
	"context"
	"os"
	"testing"
)

func benchRules() Rules {
	var r Rules
	for _, path := range []string{"/usr", "/etc", "/proc", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", os.TempDir(), "/var", "/sys", "/root", "/home", "/srv", "/mnt"} {
		r.Paths = append(r.Paths, Rule{Path: path, Rights: Read | Write, Optional: true})
	}
	return r
}

func BenchmarkNew(b *testing.B) {
	r := benchRules()
	for b.Loop() {
		rules, err := New(r)
		if err != nil {
			b.Fatal(err)
		}
		rules.Close()
	}
}

func BenchmarkTake(b *testing.B) {
	shelf := new(Shelf)
	defer shelf.Close()
	r := benchRules()
	for b.Loop() {
		rules, err := shelf.Take(r)
		if err != nil {
			b.Fatal(err)
		}
		rules.Close()
	}
}

func BenchmarkRead(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile("/etc/passwd"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("held", func(b *testing.B) {
		thread, err := OpenThread(benchRules())
		if err != nil {
			b.Fatal(err)
		}
		defer thread.Close()
		for b.Loop() {
			err := thread.Do(context.Background(), func() error {
				_, err := os.ReadFile("/etc/passwd")
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
