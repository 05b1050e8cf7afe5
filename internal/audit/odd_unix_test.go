//go:build unix

package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/durward/durward"
)

// TestReadersWalkOnPastWhatIsNoLog puts a link, a FIFO and a socket's like among logs.
func TestReadersWalkOnPastWhatIsNoLog(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string) string{
		"a link": func(t *testing.T, dir string) string {
			must(t, os.Symlink("/dev/zero", filepath.Join(dir, "x.jsonl")))
			return "x.jsonl: it is a symbolic link"
		},
		"a FIFO": func(t *testing.T, dir string) string {
			must(t, syscall.Mkfifo(filepath.Join(dir, "x.jsonl"), 0o600))
			return "x.jsonl: it cannot be read: not a regular file"
		},
		"heads that are a link": func(t *testing.T, dir string) string {
			must(t, os.Rename(filepath.Join(dir, headsFile), filepath.Join(dir, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(dir, headsFile)))
			return "heads: it is a symbolic link"
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := mixed(t)
			want := spoil(t, dir)
			var problems []string
			records := 0
			for _, err := range Records(t.Context(), dir, Filter{}) {
				if problem := (*Problem)(nil); errors.As(err, &problem) {
					problems = append(problems, problem.Error())
					continue
				}
				must(t, err)
				records++
			}
			if len(problems) != 1 || !strings.HasSuffix(problems[0], want) || records < 20 {
				t.Errorf("%d records, problems %q, want one: %s", records, problems, want)
			}
			found, err := Show(t.Context(), dir, "a3")
			if len(found) != 2 || durward.ReasonOf(err) != durward.AuditBroken || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("show: %d records, %v", len(found), err)
			}
			var told []string
			var out strings.Builder
			err = Export(t.Context(), &out, dir, JSONL, Filter{}, func(p *Problem) { told = append(told, p.Error()) })
			if strings.Count(out.String(), "\n") != records || len(told) != 1 || durward.ReasonOf(err) != durward.AuditBroken {
				t.Errorf("export: %d lines, told %q, %v", strings.Count(out.String(), "\n"), told, err)
			}
		})
	}
}
