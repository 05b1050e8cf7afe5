package catalog

import (
	"os"
	"path/filepath"

	"github.com/durward/durward/internal/mcppolicy"
)

// grounds gives what the kernel lets be written for a rule: its zone, or where that is
// missing, the nearest directory that is there, in which it is made. The guard keeps the
// rest of that out.
func grounds(r mcppolicy.WriteRule) string {
	path := r.Path
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
