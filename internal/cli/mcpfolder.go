package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"github.com/durward/durward/internal/mcppolicy"
)

// folderPolicy makes the policy of a folder that is served without one: all in it may be
// read and written, and nothing is run.
func (x *mcpServing) folderPolicy() (*mcppolicy.Policy, error) {
	start, err := x.dir()
	if err != nil {
		return nil, err
	}
	dir := x.folder
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(start, dir)
	}
	if !utf8.ValidString(dir) {
		return nil, usageError("give the folder a name in UTF-8, or a link that has one", "--files: the name of the folder is no UTF-8")
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, usageError("name a folder that is there", "--files: %s: %w", x.folder, cause(err))
	case !info.IsDir():
		return nil, usageError("name a folder", "--files: %s is not a folder", x.folder)
	case filepath.Dir(physical(dir)) == physical(dir):
		return nil, usageError("name a folder in it", "--files: %s is the whole file system", x.folder)
	}
	text := fmt.Appendf(nil, "version: 1\nallowedRoots: [%s]\nwriteRules: [{path: %[1]s, recursive: true, createIfMissing: true}]\n",
		strconv.QuoteToASCII(dir)) // YAML has all escapes of Go
	return compileMCPText("--files", text, x.mcpHost(0o600), true)
}
