package coretest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/durward/durward/internal/audit"
)

// openLog gives the real audit log in a folder of its own.
func openLog(t testing.TB) Book {
	t.Helper()
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := log.File()
	t.Cleanup(func() { _ = log.Close() }) // of a log that a test may have broken
	return Book{
		Recorder: log,
		Records: func(t testing.TB) []Record {
			lines, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			return Decode(t, lines)
		},
		Break: func(t testing.TB) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestAuditLog(t *testing.T) {
	Recorder(t, func(t *testing.T) Book { return openLog(t) })
}

func TestSameCallInTheAuditLog(t *testing.T) {
	a := &actor{}
	SameCall(t, fiveCases(a), CoreDoors(func(t testing.TB) House {
		book := openLog(t)
		return house(t, a, book.Recorder, book.Records)
	}))
}
