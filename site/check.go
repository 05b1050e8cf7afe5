package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/content"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/smallfile"
	"github.com/durward/durward/internal/source/pages"
)

// A Finding is something that the author of a page should know.
type Finding = pages.Finding

// Check looks at every page of the directory c.Root as a site would: which pages allow
// nothing because of a mistake, which programs are missing, which tools allow more than
// they seem to. It also finds the mistakes of a Config. Nothing is run or written.
//
// loaded is the number of pages that have tools. The files in the places of findings
// begin with c.Root.
func Check(ctx context.Context, c Config) (loaded int, found []Finding, err error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return 0, nil, err
	}
	local, err := content.OpenLocal(c.Root, c.Hidden...)
	if err != nil {
		return 0, nil, err
	}
	defer local.Close()
	operator, err := c.policy(local.Root())
	if err != nil {
		return 0, nil, err
	}
	paths, err := local.List(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, path := range paths {
		tools, some, err := c.checkFile(ctx, local, path)
		if err != nil {
			return 0, nil, err
		}
		found = append(found, some...)
		if tools {
			loaded++
		}
	}
	idle, err := c.checkComponents(ctx, local, operator.Grant())
	return loaded, append(found, idle...), err
}

// checkFile looks at one file. One that went away meanwhile has no findings.
func (c Config) checkFile(ctx context.Context, local *content.Local, path string) (tools bool, found []Finding, err error) {
	file := filepath.Join(c.Root, filepath.FromSlash(path))
	page, err := local.Resolve(ctx, path)
	if durward.KindOf(err) == durward.NotFound {
		return false, nil, nil
	}
	if err != nil {
		return false, []Finding{{Where: durward.Position{File: file}, Fatal: true, Message: reasonOf(err)}}, nil
	}
	defer page.Body.Close()
	document, err := page.ReadAll(pages.MaxPageBytes)
	if durward.ReasonOf(err) == durward.MaxFileBytes {
		return false, nil, nil // to be read only
	}
	dir, err2 := page.WorkingDir()
	if err := errors.Join(err, err2); err != nil {
		return false, []Finding{{Where: durward.Position{File: file}, Fatal: true, Message: reasonOf(err)}}, nil
	}
	f, _ := pages.ParseFrontmatter(file, document) // Lint says what is wrong
	return len(f.Tools) > 0, pages.Lint(file, document, func(name string) error {
		return c.program(local.Root(), dir, pages.Expand(name, c.Env))
	}), nil
}

func reasonOf(err error) string {
	var e *durward.Error
	if errors.As(err, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return err.Error()
}

// program tells why a page in dir could not run the program of that name.
func (c Config) program(root, dir, name string) error {
	if name == "glob" || name == "curl" && c.HTTP.Enabled {
		return nil
	}
	if strings.ContainsRune(name, '/') {
		return pathProgram(root, dir, name)
	}
	search := c.Path
	if search == "" {
		search = pages.Fixed()["PATH"]
	}
	if slices.ContainsFunc(filepath.SplitList(search), func(d string) bool { return isProgram(filepath.Join(d, name)) == nil }) {
		return nil
	}
	return fmt.Errorf("there is no such program in %s", search)
}

// pathProgram judges a program that is named by a path, which must lie in the site.
func pathProgram(root, dir, name string) error {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, filepath.FromSlash(name))
	}
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return smallfile.Bare(err)
	}
	if _, ok := fsroot.Below(root, path); !ok {
		return errors.New("a program that is named by a path must lie in the site")
	}
	return isProgram(path)
}

func isProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return smallfile.Bare(err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return errors.New("it cannot be executed")
	}
	return nil
}
