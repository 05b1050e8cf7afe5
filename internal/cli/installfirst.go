package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/durward/durward/internal/config/replace"
	"github.com/durward/durward/internal/mcppolicy"
)

// A firstPolicy is the policy of a user who has none yet, or the one that is there.
type firstPolicy struct {
	madeData
	// root is the one folder that it opens for reading.
	root string
}

// firstPolicy decides whether there is one to be made. Where nobody knows a place for it, its
// path is empty.
func (p *program) firstPolicy(named string) firstPolicy {
	file, err := p.policyPath(named)
	if err != nil {
		return firstPolicy{}
	}
	_, err = os.Lstat(file)
	// Where nobody can look, making it will say why; what is there all the same is not overwritten.
	f := firstPolicy{madeData: madeData{Path: file, Made: err != nil}, root: join(p.home(), "code")}
	if info, err := os.Stat(f.root); err != nil || !info.IsDir() { // a policy has to name a folder that exists
		f.root = join(p.dataDir(), "files")
	}
	return f
}

// make makes it, unless there is one.
func (f firstPolicy) make() error {
	if !f.Made {
		return nil
	}
	if err := os.MkdirAll(f.root, 0o700); err != nil {
		return fmt.Errorf("a folder for the first policy: %w", err)
	}
	err := replace.First(f.Path, []byte(mcppolicy.Starter(f.root)))
	if err != nil && !errors.Is(err, fs.ErrExist) { // who came first is not overwritten
		return fmt.Errorf("the first policy %s: %w", f.Path, err)
	}
	return nil
}

// seedLinks plans the links that programs which know mdmcp look for beside the program. What
// is there stays.
func seedLinks(file string) []linkData {
	var links []linkData
	for _, name := range []string{configurator, policyServer} {
		link := linkData{Path: filepath.Join(filepath.Dir(file), name), Target: file}
		_, err := os.Lstat(link.Path)
		link.Made = errors.Is(err, fs.ErrNotExist)
		links = append(links, link)
	}
	return links
}
